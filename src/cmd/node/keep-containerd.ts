import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import { sandboxImageName } from '#kubelet/images/sandbox-image.ts'
import { startContainerd } from '#kubelet/runtimes/cri/private-containerd.ts'

const aliveCheckMs = 3000

export type ContainerdPlace = { directory: string; cniConfigDirectory: string; cniBinDirectory?: string }

/** Starts our own containerd where it does not run, now and whenever it is found to have ended; it is left running at the end. */
export async function keepContainerd(place: ContainerdPlace, { files, clock, logger }: { files: Files; clock: Clock; logger: Logger }) {
  const seams = { files, clock, logger, processes: nodeProcesses }
  const start = () => startContainerd({ ...place, sandboxImage: sandboxImageName }, seams)
  const started = await start()
  let { pid } = started
  let isStarting = false
  const timer = clock.every(aliveCheckMs, async () => {
    if (isStarting || nodeProcesses.isAlive(pid)) return
    isStarting = true
    logger.warn('containerd exited, restarting it', { pid })
    try {
      pid = (await start()).pid
    } catch (error) {
      logger.error('failed to start containerd', { error: String(error) })
    } finally {
      isStarting = false
    }
  })
  return { socket: started.socket, stop: () => timer.cancel() }
}
