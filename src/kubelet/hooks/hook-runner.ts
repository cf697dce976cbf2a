/** Runs what a container wants done after its start and before its end. */

import type { V1Container, V1LifecycleHandler, V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Dialer } from '#base/dialer.ts'
import { errorMessage } from '#base/error-message.ts'
import { containerPort, httpGetOf } from '#kubelet/hooks/http-get.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'

export type HookRequest = {
  pod: V1Pod
  container: V1Container
  containerId: string
  /** The pod's first address; empty when it has none. */
  ip: string
  timeoutMs: number
  signal: AbortSignal
}

export type HookRunner = {
  /** Rejects with what the container's status may say of the failure. */
  run(handler: V1LifecycleHandler, request: HookRequest): Promise<void>
}

/** Without a dialer there is no network: what would be asked over it succeeds. */
export type HookRunnerOptions = { runtime: Pick<Runtime, 'exec'>; clock: Clock; dialer?: Dialer }

const bodyLimitBytes = 10 * 1024
/** What a command has written goes into an event and the pod's status; so do its words. */
const longestOutput = 1024

export function hookRunner({ runtime, clock, dialer }: HookRunnerOptions): HookRunner {
  const execute = async (command: readonly string[], { containerId, timeoutMs }: HookRequest) => {
    const { exitCode, stdout, stderr } = await runtime.exec(containerId, command, timeoutMs)
    if (exitCode !== 0) throw new ExecFailure(exitCode, `${stdout.slice(0, longestOutput)}${stderr}`.slice(0, longestOutput))
  }
  const ask = async (action: NonNullable<V1LifecycleHandler['httpGet']>, { container, ip, timeoutMs }: HookRequest) => {
    if (dialer === undefined) return
    const { url, headers } = httpGetOf(action, container, ip, 'lifecycle')
    await dialer.get({ url, headers, timeoutMs, bodyLimitBytes })
  }
  return {
    async run(handler, request) {
      const { pod, container, ip, timeoutMs, signal } = request
      const where = `for Container "${container.name}" in Pod "${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})"`
      if (handler.exec) {
        const { command = [] } = handler.exec
        await execute(command, request).catch((error: unknown) => {
          const [text, output] = error instanceof ExecFailure ? [error.message, error.output] : [String(error), '']
          throw new Error(
            `Exec lifecycle hook ([${command.join(' ').slice(0, longestOutput)}]) ${where} failed - error: ${text}, message: ${JSON.stringify(output)}`,
          )
        })
      } else if (handler.httpGet) {
        const { httpGet } = handler
        await ask(httpGet, request).catch((error: unknown) => {
          throw new Error(`HTTP lifecycle hook (${httpGet.path ?? ''}) ${where} failed - error: ${errorMessage(error)}`)
        })
      } else if (handler.sleep) {
        const { seconds } = handler.sleep
        await clock.sleep(seconds * 1000, signal).catch(() => {
          throw new Error(`Sleep lifecycle hook (${seconds}) ${where} failed - error: container terminated before sleep hook finished`)
        })
      } else if (handler.tcpSocket && dialer !== undefined) {
        const port = containerPort(handler.tcpSocket.port, container)
        await dialer.connect({ host: handler.tcpSocket.host || ip, port, timeoutMs })
      }
    },
  }
}

class ExecFailure extends Error {
  readonly output: string

  constructor(exitCode: number, output: string) {
    super(`command exited with ${exitCode}`)
    this.output = output
  }
}
