/** Our kubectl in this process, with everything it says caught. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/clock.ts'
import { nodeFiles } from '../../../src/base/files.ts'
import { nodeHttpClient } from '../../../src/base/http-client.ts'
import { nodeProcesses } from '../../../src/base/processes.ts'
import { thisTerminal } from '../../../src/base/terminal.ts'
import type { Host } from '../../../src/cli/host.ts'
import { runKubectl } from '../../../src/cli/kubectl.ts'
import type { KubectlResult } from '../../support/kubectl.ts'

type InProcessKubectl = (
  args: readonly string[],
  input?: string,
  environment?: Readonly<Record<string, string>>,
  interrupted?: AbortSignal,
) => Promise<KubectlResult>

export function inProcessKubectl(kubeconfig: string): InProcessKubectl {
  const homeDirectory = mkdtempSync(join(tmpdir(), 'tn-home-'))
  return async (args, input = '', environment = {}, interrupted = new AbortController().signal) => {
    let stdout = ''
    let stderr = ''
    const write = (text: string | Uint8Array) => {
      stdout += typeof text === 'string' ? text : Buffer.from(text).toString()
    }
    const host: Host = {
      environment: { ...process.env, KUBECONFIG: kubeconfig, HOME: homeDirectory, ...environment },
      homeDirectory,
      files: nodeFiles,
      processes: nodeProcesses,
      clock: systemClock,
      terminal: {
        ...thisTerminal,
        inputIsTerminal: false,
        outputIsTerminal: false,
        columns: 80,
        rows: 24,
        readAll: async () => Buffer.from(input),
        input: async function* () {
          yield Buffer.from(input)
        },
      },
      interrupted,
      http: nodeHttpClient,
      write,
      complain(text) {
        stderr += text
      },
    }
    const exitCode = await runKubectl(args, host)
    return { exitCode, stdout, stderr }
  }
}
