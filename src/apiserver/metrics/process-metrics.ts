/** What is measured of the process itself. */
import { thisProcess } from '#base/machine.ts'
import type { Metrics } from '#base/metrics.ts'

export function measureProcess(metrics: Metrics, version: Readonly<Record<string, string>>): void {
  metrics.measured('process_cpu_seconds_total', 'Processor time used.', () => thisProcess.cpuSeconds(), 'counter')
  metrics.measured('process_resident_memory_bytes', 'Memory in use.', () => thisProcess.residentBytes())
  metrics.measured('process_start_time_seconds', 'When the process began.', () => thisProcess.startedMs / 1000)
  metrics.measured('process_open_fds', 'Open files and sockets.', () => thisProcess.openFiles()?.open)
  metrics.measured('process_max_fds', 'How many may be open.', () => thisProcess.openFiles()?.limit)
  const {
    major = '',
    minor = '',
    gitVersion = '',
    gitCommit = '',
    gitTreeState = '',
    buildDate = '',
    goVersion = '',
    compiler = '',
    platform = '',
  } = version
  const build = {
    build_date: buildDate,
    compiler,
    git_commit: gitCommit,
    git_tree_state: gitTreeState,
    git_version: gitVersion,
    go_version: goVersion,
    major,
    minor,
    platform,
  }
  metrics.measured('kubernetes_build_info', 'What this is.', () => [[build, 1]])
}
