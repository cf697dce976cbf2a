/** `kubectl top node|pod` */
import { parseQuantity } from '#api/meta/quantity.ts'
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { TabWriter } from '#cli/print/tab-writer.ts'

type Usage = Record<string, string>
type PodMetrics = { metadata: { name: string; namespace: string }; containers: { name: string; usage: Usage }[] }
type NodeMetrics = { metadata: { name: string }; usage: Usage }
type Row = { cells: string[]; cpu: number; memory: number; name: string }

const cpuOf = (usage: Usage): number => (usage['cpu'] === undefined ? 0 : parseQuantity(usage['cpu']).milliValue())
const memoryOf = (usage: Usage): number => (usage['memory'] === undefined ? 0 : parseQuantity(usage['memory']).value())
const cells = (cpu: number, memory: number): string[] => [`${Math.ceil(cpu)}m`, `${Math.trunc(memory / 1048576)}Mi`]

async function checkApi({ session }: Call): Promise<void> {
  const { groupVersions } = await (await session.types).all()
  if (!groupVersions.includes('metrics.k8s.io/v1beta1')) throw new CliError('Metrics API not available')
}

function checkSort({ flags }: Call): void {
  if (!['', 'cpu', 'memory'].includes(flags.text('sort-by'))) throw new CliError('--sort-by accepts only cpu or memory')
}

function sorted({ flags }: Call, rows: readonly Row[]): Row[] {
  const by = flags.text('sort-by')
  return rows.toSorted(
    (one, other) =>
      (by === 'cpu' ? other.cpu - one.cpu : by === 'memory' ? other.memory - one.memory : 0) || (one.name < other.name ? -1 : 1),
  )
}

export async function topPod(call: Call): Promise<void> {
  const { args, flags, host, session } = call
  checkSort(call)
  if (args.length > 0 && flags.text('selector') !== '') throw new CliError('only one of NAME or --selector can be provided')
  await checkApi(call)
  const isAll = flags.isOn('all-namespaces')
  const namespace = isAll ? '' : await session.namespace()
  const rest = await session.rest
  const path = `/apis/metrics.k8s.io/v1beta1${isAll ? '' : `/namespaces/${namespace}`}/pods`
  const items =
    args[0] === undefined
      ? (
          await rest.json<{ items: PodMetrics[] }>({
            path,
            query: { labelSelector: flags.text('selector'), fieldSelector: flags.text('field-selector') },
          })
        ).items
      : [await rest.json<PodMetrics>({ path: `${path}/${args[0]}` })]
  if (items.length === 0) {
    host.complain(isAll ? 'No resources found\n' : `No resources found in ${namespace} namespace.\n`)
    return
  }
  const byContainer = flags.isOn('containers')
  const rows = items.flatMap(({ metadata, containers }): Row[] => {
    const place = isAll ? [metadata.namespace] : []
    if (byContainer)
      return containers.map(({ name, usage }) => ({
        name: `${metadata.namespace}/${metadata.name}/${name}`,
        cpu: cpuOf(usage),
        memory: memoryOf(usage),
        cells: [...place, metadata.name, name],
      }))
    const [cpu, memory] = [
      containers.reduce((sum, { usage }) => sum + cpuOf(usage), 0),
      containers.reduce((sum, { usage }) => sum + memoryOf(usage), 0),
    ]
    return [{ name: `${metadata.namespace}/${metadata.name}`, cpu, memory, cells: [...place, metadata.name] }]
  })
  const out = new TabWriter()
  const head = [...(isAll ? ['NAMESPACE'] : []), ...(byContainer ? ['POD', 'NAME'] : ['NAME'])]
  if (!flags.isOn('no-headers')) out.row([...head, 'CPU(cores)', 'MEMORY(bytes)'])
  for (const row of sorted(call, rows)) out.row([...row.cells, ...cells(row.cpu, row.memory)])
  if (flags.isOn('sum')) {
    const blanks = head.slice(1).map(() => '')
    out.row([...head.map(() => ''), '________', '________'])
    out.row([
      ...blanks,
      '',
      ...cells(
        rows.reduce((sum, { cpu }) => sum + cpu, 0),
        rows.reduce((sum, { memory }) => sum + memory, 0),
      ),
    ])
  }
  host.write(out.flush())
}

export async function topNode(call: Call): Promise<void> {
  const { args, flags, host, session } = call
  checkSort(call)
  if (args.length > 0 && flags.text('selector') !== '') throw new CliError('only one of NAME or --selector can be provided')
  await checkApi(call)
  const rest = await session.rest
  const query = { labelSelector: flags.text('selector') }
  const path = '/apis/metrics.k8s.io/v1beta1/nodes'
  const items =
    args[0] === undefined
      ? (await rest.json<{ items: NodeMetrics[] }>({ path, query })).items
      : [await rest.json<NodeMetrics>({ path: `${path}/${args[0]}` })]
  if (items.length === 0) throw new CliError('metrics not available yet')
  const nodes = await rest.json<{ items: { metadata: { name: string }; status: { allocatable?: Usage; capacity?: Usage } }[] }>({
    path: '/api/v1/nodes',
    query,
  })
  const out = new TabWriter()
  if (!flags.isOn('no-headers')) out.row(['NAME', 'CPU(cores)', 'CPU(%)', 'MEMORY(bytes)', 'MEMORY(%)'])
  const rows = items.map(({ metadata, usage }): Row => {
    const node = nodes.items.find((each) => each.metadata.name === metadata.name)?.status
    const whole = (flags.isOn('show-capacity') ? node?.capacity : node?.allocatable) ?? {}
    const [cpu, memory] = [cpuOf(usage), memoryOf(usage)]
    const percent = (part: number, all: number) => (all === 0 ? '<unknown>' : `${Math.trunc((part / all) * 100)}%`)
    const [cpuText = '', memoryText = ''] = cells(cpu, memory)
    return {
      name: metadata.name,
      cpu,
      memory,
      cells: [metadata.name, cpuText, percent(cpu, cpuOf(whole)), memoryText, percent(memory, memoryOf(whole))],
    }
  })
  for (const row of sorted(call, rows)) out.row(row.cells)
  host.write(out.flush())
}
