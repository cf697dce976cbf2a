/** The server that is soaked: an API server over one of the stores, its data on a disk of its own that can be filled. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'

export type Backend = 'sqlite' | 'etcd'

const repository = join(import.meta.dirname, '..', '..')
const startLimitMs = 120_000
const startAttempts = 5
/** etcd asks for 64 MB at a time, and a clock that was set back keeps history for longer. */
const diskMegabytes: Record<Backend, number> = { sqlite: 320, etcd: 320 }

export class SoakedServer implements AsyncDisposable {
  readonly backend: Backend
  readonly directory = mkdtempSync(join(tmpdir(), 'typernetes-soak-'))
  readonly disk: string
  readonly hasOwnDisk: boolean
  readonly token = 'soak-token'
  port = 0
  #etcdPorts: [number, number] = [0, 0]
  #server: ChildProcess | undefined
  #etcd: ChildProcess | undefined
  /** The last of what the server wrote. */
  output = ''

  private constructor(backend: Backend) {
    this.backend = backend
    this.disk = join(this.directory, 'disk')
    mkdirSync(this.disk)
    this.hasOwnDisk = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMegabytes[backend]}m`, 'tmpfs', this.disk]).status === 0
    writeFileSync(this.#clockFile, '0')
    process.on('exit', this.#remove)
  }

  static async start(backend: Backend): Promise<SoakedServer> {
    const soaked = new SoakedServer(backend)
    soaked.port = await freePort()
    soaked.#etcdPorts = [await freePort(), await freePort()]
    await soaked.start()
    return soaked
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`
  }

  get isRunning(): boolean {
    return this.#server !== undefined && this.#server.exitCode === null && this.#server.signalCode === null
  }

  get #clockFile(): string {
    return join(this.directory, 'clock')
  }

  get dataDirectory(): string {
    return join(this.disk, 'data')
  }

  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#startOnce()
        return
      } catch (error) {
        // etcd may notice a moment later that it could not write, and end.
        if (this.backend !== 'etcd' || this.isEtcdRunning || attempt === startAttempts) throw error
      }
    }
  }

  async #startOnce(): Promise<void> {
    if (this.backend === 'etcd' && !isAlive(this.#etcd)) await this.#startEtcd()
    const store = this.backend === 'etcd' ? ['--store', `etcd://127.0.0.1:${this.#etcdPorts[0]}`] : []
    this.#server = await this.#launch(this.dataDirectory, this.port, store)
  }

  /** Starts on a copy of the data, and says how that ended: a running server, or its last words. */
  async tryOn(dataDirectory: string): Promise<{ url: string; end(): Promise<void> } | string> {
    const port = await freePort()
    try {
      const child = await this.#launch(dataDirectory, port, [])
      return { url: `https://127.0.0.1:${port}`, end: () => killed(child) }
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  #launch(dataDirectory: string, port: number, store: readonly string[]): Promise<ChildProcess> {
    const args = ['up', '--data-dir', dataDirectory, '--api-port', String(port), '--token', this.token, '--runtime', 'none']
    const alone = ['--controllers=', '--scheduler=false']
    const program = ['--import', join(import.meta.dirname, 'jumping-clock.ts'), join(repository, 'src/cmd/main.ts')]
    const child = spawn(process.execPath, [...program, ...args, ...alone, ...store], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, SOAK_CLOCK_FILE: this.#clockFile },
    })
    return new Promise((resolve, reject) => {
      let output = ''
      const limit = setTimeout(() => child.kill('SIGKILL'), startLimitMs)
      const read = (text: Buffer) => {
        output = (output + text).slice(-20_000)
        this.output = output
        if (output.includes('The cluster is ready')) {
          clearTimeout(limit)
          resolve(child)
        }
      }
      child.stdout.on('data', read)
      child.stderr.on('data', read)
      child.on('exit', (code, signal) => {
        clearTimeout(limit)
        reject(new Error(`the server ended with ${code ?? signal}: ${output.slice(-2000)}`))
      })
    })
  }

  async #startEtcd(): Promise<void> {
    const [client, peer] = this.#etcdPorts.map((port) => `http://127.0.0.1:${port}`) as [string, string]
    const urls = ['--listen-client-urls', client, '--advertise-client-urls', client, '--listen-peer-urls', peer]
    const own = [
      '--initial-advertise-peer-urls',
      peer,
      '--initial-cluster',
      `default=${peer}`,
      '--logger',
      'zap',
      '--log-outputs',
      'stderr',
    ]
    const quick = ['--heartbeat-interval', '50', '--election-timeout', '500', '--snapshot-count', '2000']
    const child = spawn('etcd', ['--data-dir', join(this.disk, 'etcd'), ...urls, ...own, ...quick], { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#etcd = child
    await new Promise<void>((resolve, reject) => {
      let output = ''
      child.stderr?.on('data', (text: Buffer) => {
        output = (output + text).slice(-20_000)
        if (/serving client traffic|serving (insecure )?client requests/.test(output)) resolve()
      })
      child.on('exit', (code) => reject(new Error(`etcd ended with ${code}: ${output.slice(-2000)}`)))
    })
  }

  async kill(): Promise<void> {
    await killed(this.#server)
  }

  async killEtcd(): Promise<void> {
    await killed(this.#etcd)
  }

  get isEtcdRunning(): boolean {
    return isAlive(this.#etcd)
  }

  async startEtcdAgain(): Promise<void> {
    if (!isAlive(this.#etcd)) await this.#startEtcd()
  }

  setClock(offsetSeconds: number): void {
    writeFileSync(this.#clockFile, String(offsetSeconds))
  }

  /** Takes all room there is. */
  fillDisk(): void {
    const file = openSync(join(this.disk, 'filler'), 'w')
    try {
      for (const size of [1 << 20, 1 << 16, 1 << 12]) {
        const piece = Buffer.alloc(size)
        try {
          for (;;) if (writeSync(file, piece) < size) break
        } catch {
          // Full.
        }
      }
    } finally {
      closeSync(file)
    }
  }

  emptyDisk(): void {
    rmSync(join(this.disk, 'filler'), { force: true })
  }

  /** A copy of what lies on the disk, beside it. */
  copyData(): string {
    const copy = mkdtempSync(join(this.directory, 'copy-'))
    copyFiles(this.dataDirectory, copy)
    return copy
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    await this.killEtcd()
    process.off('exit', this.#remove)
    this.#remove()
  }

  readonly #remove = (): void => {
    this.#server?.kill('SIGKILL')
    this.#etcd?.kill('SIGKILL')
    if (this.hasOwnDisk) spawnSync('umount', ['-l', this.disk])
    rmSync(this.directory, { recursive: true, force: true })
  }
}

function isAlive(child: ChildProcess | undefined): boolean {
  return child !== undefined && child.exitCode === null && child.signalCode === null
}

async function killed(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || !isAlive(child)) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await exited
}

function copyFiles(from: string, to: string): void {
  for (const name of readdirSync(from)) {
    const [source, target] = [join(from, name), join(to, name)]
    const stat = statSync(source, { throwIfNoEntry: false })
    if (stat?.isDirectory()) {
      if (!existsSync(target)) mkdirSync(target)
      copyFiles(source, target)
    } else if (stat?.isFile()) copyFileSync(source, target)
  }
}
