import { thisProcess } from '#base/machine.ts'
import { thisHost } from './host.ts'
import { runKubectl } from './kubectl.ts'

/** kubectl as a program: ends the process with its exit code. */
export async function kubectlMain(args: readonly string[]): Promise<void> {
  const code = await runKubectl(args, thisHost())
  thisProcess.setExitCode(code)
  // Kept connections and the standard input would hold the process.
  thisProcess.exit(code)
}
