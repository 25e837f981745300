"""What the steps of an upstream job do: which commands they run, what a job is for, what a run can take over from it."""
