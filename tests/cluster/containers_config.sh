# How podman runs where there is no systemd and no CAP_SYS_RESOURCE; sourced.
# write_config DIR GRAPHROOT RUNROOT [READ_ONLY_IMAGE_STORE]
write_config() {
  local files
  files=$(ulimit -Hn)
  case $files in unlimited) files=1048576 ;; *) [ "$files" -le 1048576 ] || files=1048576 ;; esac
  mkdir -p "$1"
  {
    printf '[storage]\ndriver = "overlay"\ngraphroot = "%s"\nrunroot = "%s"\n' "$2" "$3"
    [ -z "${4:-}" ] || printf '[storage.options]\nadditionalimagestores = ["%s"]\n' "$4"
  } >"$1/storage.conf"
  # The caller's own limits: podman's defaults need CAP_SYS_RESOURCE. runc, because crun refuses hybrid cgroups.
  cat >"$1/containers.conf" <<C
[containers]
default_ulimits = ["nofile=$files:$files", "nproc=32768:32768"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "$1/networks"
C
}
