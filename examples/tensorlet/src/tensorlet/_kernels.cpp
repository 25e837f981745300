// The extension module: reads Python's arguments, calls the loops of kernels.hpp, gives Python's lists.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kernels.hpp"

using tensorlet::Row;

namespace {

// Reads a sequence of numbers; false, with an exception set, for anything else.
bool read_row(PyObject* object, Row& row) {
    PyObject* items = PySequence_Fast(object, "a row is a sequence of numbers");
    if (items == nullptr) {
        return false;
    }
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(items);
    row.reserve(static_cast<std::size_t>(size));
    for (Py_ssize_t i = 0; i < size; ++i) {
        const double value = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(items, i));
        if (value == -1.0 && PyErr_Occurred()) {
            Py_DECREF(items);
            return false;
        }
        row.push_back(value);
    }
    Py_DECREF(items);
    return true;
}

PyObject* make_list(const Row& row) {
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(row.size()));
    if (list == nullptr) {
        return nullptr;
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
        PyObject* item = PyFloat_FromDouble(row[i]);
        if (item == nullptr) {
            Py_DECREF(list);
            return nullptr;
        }
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), item);
    }
    return list;
}

PyObject* add(PyObject*, PyObject* args) {
    PyObject* first = nullptr;
    PyObject* second = nullptr;
    Row a;
    Row b;
    if (!PyArg_ParseTuple(args, "OO:add", &first, &second) || !read_row(first, a) ||
        !read_row(second, b)) {
        return nullptr;
    }
    if (a.size() != b.size()) {
        PyErr_Format(PyExc_ValueError, "add: the rows have %zu and %zu elements", a.size(),
                     b.size());
        return nullptr;
    }
    return make_list(tensorlet::add(a, b));
}

PyObject* scale(PyObject*, PyObject* args) {
    PyObject* object = nullptr;
    double factor = 0.0;
    Row a;
    if (!PyArg_ParseTuple(args, "Od:scale", &object, &factor) || !read_row(object, a)) {
        return nullptr;
    }
    return make_list(tensorlet::scale(a, factor));
}

PyObject* clip(PyObject*, PyObject* args) {
    PyObject* object = nullptr;
    double low = 0.0;
    double high = 0.0;
    Row a;
    if (!PyArg_ParseTuple(args, "Odd:clip", &object, &low, &high) || !read_row(object, a)) {
        return nullptr;
    }
    return make_list(tensorlet::clip(a, low, high));
}

PyObject* dot(PyObject*, PyObject* args) {
    PyObject* first = nullptr;
    PyObject* second = nullptr;
    Row a;
    Row b;
    if (!PyArg_ParseTuple(args, "OO:dot", &first, &second) || !read_row(first, a) ||
        !read_row(second, b)) {
        return nullptr;
    }
    if (a.size() != b.size()) {
        PyErr_Format(PyExc_ValueError, "dot: the rows have %zu and %zu elements", a.size(),
                     b.size());
        return nullptr;
    }
    return PyFloat_FromDouble(tensorlet::dot(a, b));
}

PyMethodDef methods[] = {
    {"add", add, METH_VARARGS, "Add two rows, element by element."},
    {"scale", scale, METH_VARARGS, "Multiply each element of a row."},
    {"clip", clip, METH_VARARGS, "Move each element of a row into an interval."},
    {"dot", dot, METH_VARARGS, "Sum up the products of two rows."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_kernels", "The loops of tensorlet.", -1, methods,
    nullptr,               nullptr,    nullptr,                   nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__kernels() { return PyModule_Create(&module); }
