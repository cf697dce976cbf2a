/** An etcd in a process of its own. It outlives us, so that a restart of the control plane costs the cluster no member, and is found again. */
import { join } from 'node:path'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { type PidFile, runningPid, stopByPidFile } from '#base/pid-file.ts'
import type { Processes } from '#base/processes.ts'
import { type EtcdMember, etcdDirectory, etcdFlags } from '#cmd/own-etcd/etcd-member.ts'

export type EtcdSeams = { files: Files; processes: Processes; clock: Clock; logger: Logger }

const stopTimeoutMs = 10_000
const aliveCheckMs = 1000

const pidFileOf = (dataDir: string): PidFile => ({
  path: join(etcdDirectory(dataDir), 'etcd.pid'),
  commandWords: [`--data-dir=${join(etcdDirectory(dataDir), 'data')}`],
})

export const etcdLog = (dataDir: string): string => join(etcdDirectory(dataDir), 'etcd.log')

/** Starts it where it does not run, now and whenever it is found to have ended, until `stop`; then it is left running. */
export async function keepEtcdRunning(dataDir: string, member: EtcdMember, seams: EtcdSeams): Promise<{ stop(): void }> {
  const { clock, processes, logger } = seams
  let pid = await startEtcd(dataDir, member, seams)
  let isStarting = false
  const timer = clock.every(aliveCheckMs, async () => {
    if (isStarting || processes.isAlive(pid)) return
    isStarting = true
    logger.warn('etcd exited, restarting it', { pid, log: etcdLog(dataDir) })
    try {
      pid = await startEtcd(dataDir, member, seams)
    } catch (error) {
      logger.error('failed to start etcd', { error: errorMessage(error) })
    } finally {
      isStarting = false
    }
  })
  return { stop: () => timer.cancel() }
}

/** Resolves with its pid: before it answers. */
async function startEtcd(dataDir: string, member: EtcdMember, { files, processes }: EtcdSeams): Promise<number> {
  const running = await runningPid(pidFileOf(dataDir), { files, processes })
  if (running !== undefined) return running
  const output = await files.openForOutput(etcdLog(dataDir))
  try {
    const child = await processes.start('etcd', etcdFlags(dataDir, member), { detached: true, output: output.descriptor })
    await files.write(pidFileOf(dataDir).path, `${child.pid}\n`)
    return child.pid
  } catch (error) {
    const why = 'code' in (error as object) && (error as { code: unknown }).code === 'ENOENT' ? 'it is not installed' : errorMessage(error)
    throw new Error(`--store etcd: the program etcd cannot be started: ${why} (Debian: apt install etcd-server)`, { cause: error })
  } finally {
    await output.close()
  }
}

export async function stopEtcd(dataDir: string, seams: Pick<EtcdSeams, 'files' | 'processes' | 'clock'>): Promise<boolean> {
  const isRunning = (await runningPid(pidFileOf(dataDir), seams)) !== undefined
  await stopByPidFile(pidFileOf(dataDir), { ...seams, timeoutMs: stopTimeoutMs })
  return isRunning
}
