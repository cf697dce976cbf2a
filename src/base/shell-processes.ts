import type { Clock, Timer } from '#base/clock.ts'
import type { Processes } from '#base/processes.ts'
import { ResidentShell } from '#base/resident-shell.ts'

const shellCount = 2
/** Long enough for the next pod of several, short enough that nothing stays beside us when nothing happens. */
const idleMs = 5000
/** A shell reads its input letter by letter. */
const shellInputMax = 50_000

/**
 * Runs short programs from shells that stay for a moment, which takes a fraction of what it takes a large process to start them.
 * Output and errors come together: only for programs that print nothing but their result when they succeed, named by `programs`. Others, and what has
 * an environment of its own, are run as ever.
 */
export function shellProcesses(processes: Processes, clock: Clock, programs: ReadonlySet<string>): Processes {
  const shells = Array.from({ length: shellCount }, () => ({ shell: new ResidentShell(processes), underWay: 0 }))
  let idle: Timer | undefined
  return {
    ...processes,
    async run(command, args, options = {}) {
      const { input = '', environment, directory, signal } = options
      const isPlain = programs.has(command) && environment === undefined && directory === undefined && signal === undefined
      if (!isPlain || typeof input !== 'string' || input.length > shellInputMax) return processes.run(command, args, options)
      const chosen = shells.reduce((best, each) => (each.underWay < best.underWay ? each : best))
      chosen.underWay++
      idle?.cancel()
      try {
        const { exitCode, output } = await chosen.shell.run([command, ...args], input)
        const isDone = exitCode === 0
        return { exitCode, signal: null, stdout: isDone ? output : '', stderr: isDone ? '' : output }
      } finally {
        chosen.underWay--
        if (shells.every(({ underWay }) => underWay === 0)) {
          idle?.cancel()
          idle = clock.after(idleMs, () => {
            for (const { shell } of shells) shell.close()
          })
        }
      }
    },
  }
}
