"""An executor for Apache Airflow 3: DAGs run on machines of `bursar serve`, within budgets."""
