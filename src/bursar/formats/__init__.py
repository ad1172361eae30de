"""What people write and read: command lines, parameters, job files, job logs."""
