"""What a run says, in the terminal, in the run folder and to other programs."""
