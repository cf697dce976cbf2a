import { asLines } from '#base/as-lines.ts'
import type { Processes } from '#base/processes.ts'
import { ipTool, type Link, type Neighbour, type Route } from '#network/kernel/ip-tool.ts'
import { type Changes, difference, type Forwarding } from '#network/pod-network/difference.ts'
import { type Plan, routeProtocol } from '#network/pod-network/plan.ts'

export type ApplyOptions = {
  processes: Processes
  /** Devices that were made for an earlier plan. */
  ownDevices: readonly string[]
  /** Routes through it and through own devices are ours, those of other clusters on the machine are not. */
  uplink: string
  /** A network namespace other than the process's own. */
  namespace?: string | undefined
}

/** Looks at what the kernel holds and changes the difference alone. Resolves with what was done. */
export async function applyPlan(plan: Plan, { processes, ownDevices, uplink, namespace }: ApplyOptions): Promise<Changes> {
  const ip = ipTool(processes, namespace)
  const devices = [...new Set([...plan.links.map(({ name }) => name), ...ownDevices])]
  const ofDevices = async <Row>(show: (device: string) => Promise<Row[]>) => (await Promise.all(devices.map(show))).flat()
  // The first tunnel comes with the module, in every namespace: making it afterwards would fail.
  if (plan.links.some(({ type }) => type === 'type ipip')) await processes.run('modprobe', ['ipip']).catch(() => {})
  const [links, routes, routesV6, neighbours, forwarding] = await Promise.all([
    ip.show<Link>('address', 'show'),
    ip.show<Route>('-4', 'route', 'show', 'proto', String(routeProtocol)),
    ip.show<Route>('-6', 'route', 'show', 'proto', String(routeProtocol)),
    ofDevices(async (device) => {
      const rows = await ip.show<Neighbour>('neighbour', 'show', 'dev', device, 'nud', 'permanent')
      // What is asked of one device does not name it.
      return rows.map((row) => ({ ...row, dev: device, state: ['PERMANENT'] }))
    }),
    ofDevices((device) => forwardingOf(processes, namespace, device)),
  ])
  const own = [...routes, ...routesV6]
    .filter(({ dev = '' }) => dev === uplink || devices.includes(dev))
    .map((route) => ({ ...route, protocol: String(routeProtocol) }))
  const changes = difference(plan, { links, routes: own, neighbours, forwarding, ownDevices })
  const failures: unknown[] = []
  await ip.change(changes.ip).catch(async (error: unknown) => {
    const unknown = unknownKind(plan, error)
    if (unknown !== undefined) throw unknown
    failures.push(error)
    // What the kernel does not take of one node is no reason to leave out the others.
    await ip.try(changes.ip.filter((command) => /^(route|neighbour) /.test(command)))
  })
  await changeForwarding(processes, namespace, changes.bridge).catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
  return changes
}

/** The kernel cannot make a device of that kind. */
export class NoSuchDevice extends Error {
  readonly kind: string

  constructor(kind: string) {
    super(`this kernel has no devices of type ${kind} (modprobe ${kind}); choose another --pod-network, such as vxlan`)
    this.kind = kind
  }
}

/** The kernel's words say nothing to those who chose a network. */
function unknownKind({ links }: Plan, error: unknown): NoSuchDevice | undefined {
  const text = String(error)
  const name = text.includes('Unknown device type') ? /link add (\S+) /.exec(text)?.[1] : undefined
  const kind = links.find((link) => link.name === name)?.type.split(' ')[1]
  return kind === undefined ? undefined : new NoSuchDevice(kind)
}

const longestMs = 60_000
const inNamespace = (namespace: string | undefined): string[] => (namespace === undefined ? [] : ['nsenter', `--net=${namespace}`])

async function forwardingOf(processes: Processes, namespace: string | undefined, device: string): Promise<Forwarding[]> {
  const [program = 'bridge', ...args] = [...inNamespace(namespace), 'bridge', '-json', 'fdb', 'show', 'dev', device]
  const { exitCode, stdout } = await processes.run(program, args, { timeoutMs: longestMs })
  const rows: Forwarding[] = exitCode === 0 && stdout.trim() !== '' ? JSON.parse(stdout) : []
  return rows.map((row) => ({ ...row, ifname: device }))
}

async function changeForwarding(processes: Processes, namespace: string | undefined, commands: readonly string[]): Promise<void> {
  if (commands.length === 0) return
  const [program = 'bridge', ...args] = [...inNamespace(namespace), 'bridge', '-force', '-batch', '-']
  const { exitCode, stderr } = await processes.run(program, args, { input: asLines(commands), timeoutMs: longestMs })
  if (exitCode !== 0) throw new Error(`bridge ${commands.join('; ')}: ${stderr.trim()}`)
}
