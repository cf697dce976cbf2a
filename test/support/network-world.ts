/**
 * A node and its pods as network namespaces of this machine, with a real kernel between them:
 *
 * ```
 * pod-1 … pod-N ── bridge (10.244.1.1, fd44:1::1) ── node (192.0.2.1, 2001:db8::1) ── far (192.0.2.2: outside, and 10.244.2.0/24: another node)
 * ```
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import type { PeerRequest } from './network-peer.ts'

/** Why there can be no such world here; false where there can. */
export function whyNoNetworkWorld(...programs: string[]): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'network namespaces need root on Linux'
  for (const program of ['ip', ...programs]) {
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) return `${program} is not installed`
  }
  return false
}

let worlds = 0

export class NetworkWorld implements AsyncDisposable {
  readonly #prefix = `tn${process.pid}x${worlds++}`
  readonly #peers = new Map<string, Peer>()
  readonly #names: string[] = []
  readonly pods: readonly string[]

  private constructor(pods: readonly string[]) {
    this.pods = pods
  }

  static async start({ pods }: { pods: readonly string[] }): Promise<NetworkWorld> {
    const world = new NetworkWorld(pods)
    try {
      world.#lay()
      await Promise.all([...pods, 'node', 'far'].map((name) => world.#startPeer(name)))
    } catch (error) {
      await world[Symbol.asyncDispose]()
      throw error
    }
    return world
  }

  /** The address of a pod, by its number. */
  podIp(name: string): string {
    return `10.244.1.${this.pods.indexOf(name) + 11}`
  }
  podIp6(name: string): string {
    return `fd44:1::${this.pods.indexOf(name) + 11}`
  }

  namespace(name: string): string {
    return `${this.#prefix}-${name}`
  }

  /** Programs that are run on the node. */
  get processes(): Processes {
    const inside = (command: string, args: readonly string[]): [string, string[]] => [
      'ip',
      ['netns', 'exec', this.namespace('node'), command, ...args],
    ]
    return {
      ...nodeProcesses,
      run: (command, args, options) => nodeProcesses.run(...inside(command, args), options),
      start: (command, args, options) => nodeProcesses.start(...inside(command, args), options),
    }
  }

  tell<T = string>(name: string, request: PeerRequest): Promise<T> {
    const peer = this.#peers.get(name)
    if (peer === undefined) throw new Error(`there is no ${name}`)
    return peer.tell(request) as Promise<T>
  }

  /** Runs a program on the node, or in the place named, and returns what it prints. */
  run(command: string, args: readonly string[], name = 'node'): string {
    const { status, stdout, stderr } = spawnSync('ip', ['netns', 'exec', this.namespace(name), command, ...args], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
    return stdout
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#peers.values()].map((peer) => peer.end()))
    for (const name of this.#names) spawnSync('ip', ['netns', 'delete', this.namespace(name)])
  }

  #lay(): void {
    for (const name of ['node', 'far', ...this.pods]) {
      ip('netns', 'add', this.namespace(name))
      this.#names.push(name)
      this.run('ip', ['link', 'set', 'lo', 'up'], name)
    }
    const on = (name: string, ...commands: string[]) => {
      for (const command of commands) this.run('ip', command.split(' '), name)
    }
    for (const knob of ['net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1', 'net.ipv4.conf.all.route_localnet=1']) {
      this.run('sysctl', ['-qw', knob])
    }
    ip('link', 'add', 'eth0', 'netns', this.namespace('node'), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.namespace('far'))
    on('node', 'link set eth0 up', 'addr add 192.0.2.1/24 dev eth0', 'addr add 2001:db8::1/64 dev eth0 nodad')
    on('node', 'link add br0 type bridge', 'link set br0 up', 'addr add 10.244.1.1/24 dev br0', 'addr add fd44:1::1/64 dev br0 nodad')
    on('far', 'link set eth0 up', 'addr add 192.0.2.2/24 dev eth0', 'addr add 2001:db8::2/64 dev eth0 nodad')
    on('far', 'addr add 10.244.2.11/32 dev lo', 'addr add fd44:2::11/128 dev lo nodad', 'route add default via 192.0.2.1')
    on('far', '-6 route add default via 2001:db8::1')
    on('node', 'route add 10.244.2.0/24 via 192.0.2.2', '-6 route add fd44:2::/64 via 2001:db8::2', 'route add default via 192.0.2.2')
    for (const [index, pod] of this.pods.entries()) {
      ip(
        'link',
        'add',
        'eth0',
        'netns',
        this.namespace(pod),
        'type',
        'veth',
        'peer',
        'name',
        `veth${index}`,
        'netns',
        this.namespace('node'),
      )
      on('node', `link set veth${index} up master br0`, `link set veth${index} type bridge_slave hairpin on`)
      on(pod, 'link set eth0 up', `addr add ${this.podIp(pod)}/24 dev eth0`, `addr add ${this.podIp6(pod)}/64 dev eth0 nodad`)
      on(pod, 'route add default via 10.244.1.1', '-6 route add default via fd44:1::1')
    }
  }

  async #startPeer(name: string): Promise<void> {
    const peer = new Peer(this.namespace(name), name)
    this.#peers.set(name, peer)
  }
}

function ip(...args: string[]): void {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`)
}

class Peer {
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  #last = 0

  constructor(namespace: string, name: string) {
    const program = join(import.meta.dirname, 'network-peer.ts')
    this.#child = spawn('ip', ['netns', 'exec', namespace, process.execPath, program, name], { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: this.#child.stdout ?? process.stdin }).on('line', (line) => {
      const { id, result, error } = JSON.parse(line) as { id: number; result?: unknown; error?: string }
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) waiting?.resolve(result)
      else waiting?.reject(new Error(`${name}: ${error}`))
    })
    this.#child.stdin?.on('error', () => {})
    this.#ended = new Promise((resolve) => {
      this.#child.on('exit', () => {
        for (const { reject } of this.#waiting.values()) reject(new Error(`${name} has ended`))
        resolve()
      })
    })
  }

  tell(request: PeerRequest): Promise<unknown> {
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) reject(new Error('the peer has ended'))
      this.#waiting.set(id, { resolve, reject })
      this.#child.stdin?.write(`${JSON.stringify({ id, ...request })}\n`)
    })
  }

  async end(): Promise<void> {
    this.#child.stdin?.end()
    await this.#ended
  }
}
