/** A part of a core for a process: shows on a machine with few cores what each server would do on a core of its own. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const periodMicros = 20_000
const oldRoot = '/sys/fs/cgroup/cpu'
const root = '/sys/fs/cgroup'

/** Undefined where this machine does not let us: then whatever there is counts. */
export function giveCores(pid: number, cores: number): Disposable | undefined {
  const isOld = existsSync(join(oldRoot, 'cpu.cfs_quota_us'))
  const parent = isOld ? oldRoot : root
  const group = join(parent, `tn-bench-${pid}`)
  const quota = Math.round(cores * periodMicros)
  try {
    if (!isOld) writeFileSync(join(root, 'cgroup.subtree_control'), '+cpu')
    mkdirSync(group)
    if (isOld) {
      writeFileSync(join(group, 'cpu.cfs_period_us'), String(periodMicros))
      writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota))
    } else writeFileSync(join(group, 'cpu.max'), `${quota} ${periodMicros}`)
    writeFileSync(join(group, 'cgroup.procs'), String(pid))
  } catch {
    return undefined
  }
  return {
    [Symbol.dispose]() {
      try {
        writeFileSync(join(parent, 'cgroup.procs'), String(pid))
      } catch {
        // It has ended.
      }
      rmdirSync(group)
    },
  }
}
