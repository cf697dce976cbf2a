/** What a process of this machine has in memory. */
import { readFileSync, writeFileSync } from 'node:fs'

/** In MiB; 0 where that cannot be seen. */
export function residentMiB(pid: number | undefined): number {
  return statusMiB(pid, 'VmRSS')
}

/** The most since `forgetPeak`. */
export function peakMiB(pid: number | undefined): number {
  return statusMiB(pid, 'VmHWM')
}

export function forgetPeak(pid: number | undefined): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // Not Linux: the peak is that of the whole run.
  }
}

function statusMiB(pid: number | undefined, name: string): number {
  try {
    const [, kibibytes = '0'] = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Math.round(Number(kibibytes) / 1024)
  } catch {
    return 0
  }
}
