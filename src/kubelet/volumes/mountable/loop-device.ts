/** Files as disks. */
import type { Processes } from '#base/processes.ts'

type LoopTools = { processes: Processes }

/** The device that shows the file, made where there is none. */
export async function loopDeviceOf(path: string, { processes }: LoopTools): Promise<string> {
  const present = await loopDeviceThere(path, { processes })
  if (present !== undefined) return present
  const { exitCode, stdout, stderr } = await processes.run('losetup', ['--find', '--show', path])
  if (exitCode !== 0) throw new Error(`losetup failed for ${path}: ${stderr.trim()}`)
  return stdout.trim()
}

async function loopDeviceThere(path: string, { processes }: LoopTools): Promise<string | undefined> {
  const { exitCode, stdout } = await processes.run('losetup', ['--associated', path, '--output', 'NAME', '--noheadings'])
  const [device = ''] = stdout.split('\n').map((line) => line.trim())
  return exitCode === 0 && device !== '' ? device : undefined
}

export async function releaseLoopDevice(path: string, { processes }: LoopTools): Promise<void> {
  const device = await loopDeviceThere(path, { processes })
  if (device === undefined) return
  const { exitCode, stderr } = await processes.run('losetup', ['--detach', device])
  if (exitCode !== 0) throw new Error(`losetup failed to detach ${device} from ${path}: ${stderr.trim()}`)
}

/** The device sees the size that its file has now. */
export async function refreshLoopDevice(path: string, { processes }: LoopTools): Promise<string | undefined> {
  const device = await loopDeviceThere(path, { processes })
  if (device === undefined) return undefined
  const { exitCode, stderr } = await processes.run('losetup', ['--set-capacity', device])
  if (exitCode !== 0) throw new Error(`losetup failed to resize ${device}: ${stderr.trim()}`)
  return device
}
