/** The disks of the tests' driver: files with a file system on a loop device, or directories where nobody is root. */
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeFiles } from '#base/files.ts'
import { nodeMounts } from '#base/mounts.ts'
import { nodeProcesses } from '#base/processes.ts'

export type Disk = {
  id: string
  sizeBytes: number
  isBlock: boolean
  fsType: string
  publishedTo: string[]
  parameters: Record<string, string>
}

export const run = async (program: string, ...args: string[]): Promise<string> => {
  const { exitCode, stdout, stderr } = await nodeProcesses.run(program, args)
  if (exitCode !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr.trim()}`)
  return stdout.trim()
}

/** What a file system has written down to do is done; that it had to be is no error. */
export const mendFileSystem = async (device: string): Promise<void> => {
  const { exitCode, stdout, stderr } = await nodeProcesses.run('e2fsck', ['-f', '-p', device])
  if (exitCode > 1) throw new Error(`e2fsck ${device}: ${stdout}${stderr}`)
}

export class StoredDisks {
  readonly directory: string
  readonly usesLoop: boolean

  constructor(directory: string, usesLoop: boolean) {
    this.directory = directory
    this.usesLoop = usesLoop
  }

  pathOf(id: string): string {
    return join(this.directory, id)
  }

  async find(id: string): Promise<Disk | undefined> {
    const text = await fs.readFile(`${this.pathOf(id)}.json`, 'utf8').catch(() => undefined)
    return text === undefined ? undefined : (JSON.parse(text) as Disk)
  }

  async save(disk: Disk): Promise<void> {
    await nodeFiles.write(`${this.pathOf(disk.id)}.json`, JSON.stringify(disk))
  }

  async make(disk: Disk, from?: string): Promise<void> {
    const path = this.pathOf(disk.id)
    if (from !== undefined) await run('cp', '-a', '-T', from, path)
    else if (!this.usesLoop && !disk.isBlock) await fs.mkdir(path, { recursive: true })
    if (this.usesLoop || disk.isBlock) await run('truncate', '-s', `>${disk.sizeBytes}`, path)
    await this.save(disk)
  }

  async remove(id: string): Promise<void> {
    await this.detach(id)
    await fs.rm(this.pathOf(id), { recursive: true, force: true })
    await fs.rm(`${this.pathOf(id)}.json`, { force: true })
  }

  /** Resolves once it is gone: somebody else may have it open for a moment, and then it goes later than it was told to. */
  async detach(id: string): Promise<void> {
    const device = await this.deviceThere(id)
    if (device !== undefined) await run('losetup', '-d', device)
    for (let tries = 0; tries < 200 && device !== undefined && (await this.deviceThere(id)) === device; tries++) await sleep(50)
  }

  async deviceThere(id: string): Promise<string | undefined> {
    const { stdout } = await nodeProcesses.run('losetup', ['-j', this.pathOf(id), '-O', 'NAME', '-n'])
    return stdout.split('\n')[0]?.trim() || undefined
  }

  async deviceOf(id: string): Promise<string> {
    return (await this.deviceThere(id)) ?? run('losetup', '-f', '--show', this.pathOf(id))
  }

  async list(): Promise<string[]> {
    return (await fs.readdir(this.directory)).filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -5))
  }
}

export const isMounted = async (path: string): Promise<boolean> => (await nodeMounts.below(path)).includes(path)
