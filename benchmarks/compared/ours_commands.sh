# Neural Graph Machines from the command line: tables to a graph folder, to a run folder, to classes of new papers.
#
#     bash ours_commands.sh DATA SEED

ngm ingest --nodes "$1/known.csv" --edges "$1/edges.csv" --label label -o graph/
times > before.txt  # measuring
ngm train graph/ --text words --network ffnn --validation 0 --seed "$2" -o run/
times > after.txt  # measuring
ngm predict run/ "$1/new.csv" --label label --json -o classes.csv > told.json
