"""Build the extension module; everything else stands in pyproject.toml."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "tensorlet._kernels",
            sources=["src/tensorlet/_kernels.cpp"],
            depends=["src/tensorlet/kernels.hpp"],
            language="c++",
            extra_compile_args=["-std=c++17"],
        )
    ]
)
