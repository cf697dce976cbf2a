/** `kubectl top node|pod` */
import { parseQuantity } from '#api/meta/quantity.ts'
import type { Call } from '#cli/call.ts'
import { CliError, usageError } from '#cli/cli-error.ts'
import { TabWriter } from '#cli/print/tab-writer.ts'

type Usage = Record<string, string>
type PodMetrics = { metadata: { name: string; namespace: string }; containers: { name: string; usage: Usage }[] }
type NodeMetrics = { metadata: { name: string }; usage: Usage }
type NodeStatus = { allocatable?: Usage; capacity?: Usage; nodeInfo?: { swap?: { capacity?: number } } }
type Row = { cells: string[]; cpu: number; memory: number; swap: number; name: string }

const cpuOf = (usage: Usage): number => (usage['cpu'] === undefined ? 0 : parseQuantity(usage['cpu']).milliValue())
const memoryOf = (usage: Usage): number => (usage['memory'] === undefined ? 0 : parseQuantity(usage['memory']).value())
const swapOf = (usage: Usage): number => (usage['swap'] === undefined ? 0 : parseQuantity(usage['swap']).value())
const bytesText = (bytes: number): string => `${Math.trunc(bytes / 1048576)}Mi`
const cells = (cpu: number, memory: number): string[] => [`${Math.ceil(cpu)}m`, bytesText(memory)]

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
  if (args.length > 1) throw usageError('top pod', 'pod [NAME | -l label]')
  if (args.length > 0 && flags.text('selector') !== '') throw new CliError('only one of NAME or selector can be provided')
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
    const pods = await rest.json<{ items: unknown[] }>({
      path: isAll ? '/api/v1/pods' : `/api/v1/namespaces/${namespace}/pods`,
      query: { labelSelector: flags.text('selector'), fieldSelector: flags.text('field-selector') },
    })
    // Pods that are new have not been measured yet.
    if (pods.items.length > 0) throw new CliError('metrics not available yet')
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
        swap: swapOf(usage),
        cells: [...place, metadata.name, name],
      }))
    const total = (of: (usage: Usage) => number) => containers.reduce((sum, { usage }) => sum + of(usage), 0)
    const name = `${metadata.namespace}/${metadata.name}`
    return [{ name, cpu: total(cpuOf), memory: total(memoryOf), swap: total(swapOf), cells: [...place, metadata.name] }]
  })
  const out = new TabWriter()
  const head = [...(isAll ? ['NAMESPACE'] : []), ...(byContainer ? ['POD', 'NAME'] : ['NAME'])]
  const withSwap = flags.isOn('show-swap')
  const usageCells = ({ cpu, memory, swap }: { cpu: number; memory: number; swap: number }) => [
    ...cells(cpu, memory),
    ...(withSwap ? [bytesText(swap)] : []),
  ]
  if (!flags.isOn('no-headers')) out.row([...head, 'CPU(cores)', 'MEMORY(bytes)', ...(withSwap ? ['SWAP(bytes)'] : [])])
  for (const row of sorted(call, rows)) out.row([...row.cells, ...usageCells(row)])
  if (flags.isOn('sum')) {
    const total = (field: 'cpu' | 'memory' | 'swap') => rows.reduce((sum, row) => sum + row[field], 0)
    const sums = usageCells({ cpu: total('cpu'), memory: total('memory'), swap: total('swap') })
    const blanks = head.map(() => '')
    out.row([...blanks, ...sums.map(() => '________')])
    out.row([...blanks, ...sums])
  }
  host.write(out.flush())
}

export async function topNode(call: Call): Promise<void> {
  const { args, flags, host, session } = call
  checkSort(call)
  if (args.length > 1) throw usageError('top node', 'node [NAME | -l label]')
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
  const nodes = await rest.json<{ items: { metadata: { name: string }; status: NodeStatus }[] }>({
    path: '/api/v1/nodes',
    query,
  })
  const withSwap = flags.isOn('show-swap')
  const nodeColumns = ['NAME', 'CPU(cores)', 'CPU(%)', 'MEMORY(bytes)', 'MEMORY(%)', ...(withSwap ? ['SWAP(bytes)', 'SWAP(%)'] : [])]
  const out = new TabWriter()
  if (!flags.isOn('no-headers')) out.row(nodeColumns)
  const rows = items.map(({ metadata, usage }): Row => {
    const node = nodes.items.find((each) => each.metadata.name === metadata.name)?.status
    const whole = (flags.isOn('show-capacity') ? node?.capacity : node?.allocatable) ?? {}
    const [cpu, memory] = [cpuOf(usage), memoryOf(usage)]
    const percent = (part: number, all: number) => (all === 0 ? '<unknown>' : `${Math.trunc((part / all) * 100)}%`)
    const [cpuText = '', memoryText = ''] = cells(cpu, memory)
    const swap = swapOf(usage)
    const swapCells =
      usage['swap'] === undefined ? ['<unknown>', '<unknown>'] : [bytesText(swap), percent(swap, node?.nodeInfo?.swap?.capacity ?? 0)]
    const shown = [metadata.name, cpuText, percent(cpu, cpuOf(whole)), memoryText, percent(memory, memoryOf(whole))]
    return { name: metadata.name, cpu, memory, swap, cells: withSwap ? [...shown, ...swapCells] : shown }
  })
  for (const row of sorted(call, rows)) out.row(row.cells)
  const unmeasured =
    args[0] === undefined ? nodes.items.filter(({ metadata }) => !items.some((each) => each.metadata.name === metadata.name)) : []
  for (const { metadata } of unmeasured) out.row([metadata.name, ...nodeColumns.slice(1).map(() => '<unknown>')])
  host.write(out.flush())
}
