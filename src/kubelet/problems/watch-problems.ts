import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { ProblemCondition } from '#kubelet/node/node-object.ts'
import { readProblemConfiguration } from '#kubelet/problems/problem-configuration.ts'
import { ProblemMonitor, type ProblemMonitorOptions } from '#kubelet/problems/problem-monitor.ts'

/** Runs the plugins that these files name, until the stack unwinds. Resolves with what is known of the machine by them. */
export async function watchProblems(
  paths: readonly string[],
  options: Omit<ProblemMonitorOptions, 'configuration'> & { files: Files },
  begun: AsyncDisposableStack,
): Promise<() => ProblemCondition[]> {
  const monitors: ProblemMonitor[] = []
  for (const path of paths) {
    const text = await options.files.readText(path).catch((error: unknown) => {
      throw new Error(`--node-problem-plugins: ${errorMessage(error)}`)
    })
    monitors.push(begun.use(new ProblemMonitor({ ...options, configuration: readProblemConfiguration(text, path) })))
  }
  for (const monitor of monitors) monitor.start()
  return () => monitors.flatMap(({ conditions }) => conditions)
}
