/** Nodes of a network in miniature: namespaces joined by a bridge that lies in one of its own. Nothing of the machine's network is touched. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type LabNode = {
  readonly name: string
  readonly namespace: string
  readonly address: string
  readonly addressV6: string
  readonly podCidrs: readonly string[]
  /** A namespace with an address of the node's range, joined to the node by a bridge. */
  readonly pod: { readonly namespace: string; readonly address: string; readonly addressV6: string }
  run(...command: readonly string[]): string
  cut(): void
  join(): void
}

export type NetworkLab = Disposable & {
  readonly nodes: readonly LabNode[]
  readonly directory: string
  /** The namespace of the bridge that joins the nodes. */
  readonly hub: string
  run(...command: readonly string[]): string
}

let count = 0

export function whyNoLab(): string | false {
  if (process.platform !== 'linux') return 'network namespaces need Linux'
  if (process.getuid?.() !== 0) return 'network namespaces need root'
  return spawnSync('unshare', ['--net', 'ip', 'link', 'add', 'veth0', 'type', 'veth', 'peer', 'name', 'veth1']).status === 0
    ? false
    : 'network namespaces cannot be made here'
}

export function runIn(namespace: string, command: readonly string[]): { ok: boolean; output: string } {
  const { status, stdout, stderr } = spawnSync('nsenter', [`--net=/run/netns/${namespace}`, ...command], { encoding: 'utf8' })
  return { ok: status === 0, output: status === 0 ? stdout : stderr + stdout }
}

function must(namespace: string | undefined, ...command: readonly string[]): string {
  const [program = '', ...args] = namespace === undefined ? command : ['nsenter', `--net=/run/netns/${namespace}`, ...command]
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
  return stdout
}

export function openNetworkLab({ nodes: nodeCount = 3, mtu = 1500 } = {}): NetworkLab {
  const prefix = `tnlab-${process.pid}-${++count}`
  const made: string[] = []
  const add = (name: string) => {
    const namespace = `${prefix}-${name}`
    must(undefined, 'ip', 'netns', 'add', namespace)
    made.push(namespace)
    must(namespace, 'ip', 'link', 'set', 'lo', 'up')
    return namespace
  }
  const directory = mkdtempSync(join(tmpdir(), 'tn-lab-'))
  const dispose = () => {
    for (const namespace of made.reverse()) spawnSync('ip', ['netns', 'delete', namespace])
    rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
  }
  try {
    const hub = add('hub')
    must(hub, 'sh', '-ec', 'ip link add sw type bridge; ip link set sw up; ip address add 172.31.0.1/24 dev sw')
    const nodes = Array.from({ length: nodeCount }, (_, index) => addNode(add, hub, index + 1, mtu))
    return { nodes, directory, hub, run: (...command) => must(hub, ...command), [Symbol.dispose]: dispose }
  } catch (error) {
    dispose()
    throw error
  }
}

function addNode(add: (name: string) => string, hub: string, number: number, mtu: number): LabNode {
  const namespace = add(`n${number}`)
  const [address, addressV6] = [`172.31.0.${10 + number}`, `fd31::${10 + number}`]
  must(
    hub,
    'sh',
    '-ec',
    `ip link add v${number} mtu ${mtu} type veth peer name eth0 mtu ${mtu} netns /run/netns/${namespace}; ip link set v${number} master sw up`,
  )
  must(
    namespace,
    'sh',
    '-ec',
    `ip link set eth0 up
    ip address add ${address}/24 dev eth0; ip address add ${addressV6}/64 dev eth0 nodad; ip route add default via 172.31.0.1
    echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
    ip link add cni0 type bridge; ip link set cni0 up
    ip address add 10.50.${number}.1/24 dev cni0; ip address add fd50:0:0:${number}::1/64 dev cni0 nodad`,
  )
  const podNamespace = add(`p${number}`)
  must(namespace, 'sh', '-ec', `ip link add vp type veth peer name eth0 netns /run/netns/${podNamespace}; ip link set vp master cni0 up`)
  must(
    podNamespace,
    'sh',
    '-ec',
    `ip link set eth0 up; ip address add 10.50.${number}.2/24 dev eth0; ip address add fd50:0:0:${number}::2/64 dev eth0 nodad
    ip route add default via 10.50.${number}.1; ip -6 route add default via fd50:0:0:${number}::1`,
  )
  return {
    name: `n${number}`,
    namespace,
    address,
    addressV6,
    podCidrs: [`10.50.${number}.0/24`, `fd50:0:0:${number}::/64`],
    pod: { namespace: podNamespace, address: `10.50.${number}.2`, addressV6: `fd50:0:0:${number}::2` },
    run: (...command) => must(namespace, ...command),
    cut: () => void must(hub, 'ip', 'link', 'set', `v${number}`, 'down'),
    join: () => void must(hub, 'ip', 'link', 'set', `v${number}`, 'up'),
  }
}
