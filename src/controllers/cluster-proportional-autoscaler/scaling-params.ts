/** How many replicas a cluster of some size needs: the two ways of reckoning, as config maps describe them. */

export type ClusterSize = { totalNodes: number; schedulableNodes: number; totalCores: number; schedulableCores: number }

export type ReplicasFor = (size: ClusterSize) => number

/** Reads `linear` or `ladder` of a config map's data. Throws in upstream's words. */
export function readScalingParams(data: Readonly<Record<string, string>>): ReplicasFor {
  const [mode, ...others] = Object.keys(data)
  if (mode === undefined || others.length > 0)
    throw new Error(`invalid configMap format, expected only one entry, got: ${JSON.stringify(data)}`)
  if (mode !== 'linear' && mode !== 'ladder') throw new Error(`not a supported control mode: ${mode}`)
  const params = parsed(mode, data[mode] ?? '')
  return mode === 'linear' ? linear(params) : ladder(params)
}

function parsed(mode: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
    throw new Error('not an object')
  } catch (error) {
    throw new Error(`error parsing ${mode} params: could not parse parameters (${error instanceof Error ? error.message : String(error)})`)
  }
}

function linear(params: Readonly<Record<string, unknown>>): ReplicasFor {
  const fail = (message: string): never => {
    throw new Error(`error parsing linear params: ${message}`)
  }
  const numberAt = (key: string): number => {
    const value = params[key] ?? 0
    return typeof value === 'number' ? value : fail(`could not parse parameters (${key} is not a number)`)
  }
  const coresPerReplica = numberAt('coresPerReplica')
  const nodesPerReplica = numberAt('nodesPerReplica')
  const [givenMin, max] = [numberAt('min'), numberAt('max')]
  if (givenMin < 0) fail(`invalid negative value for min: ${givenMin}`)
  const min = givenMin === 0 ? 1 : givenMin
  if (max !== 0 && max < min) fail(`max replicas count ${max} should be greater than / equal to min replicas count ${min}`)
  if (coresPerReplica === 0 && nodesPerReplica === 0)
    fail('should at least provide either CoresPerReplica or NodesPerReplica (Greater than 0)')
  if (coresPerReplica < 0) fail(`invalid negative value for coresPerReplica: ${coresPerReplica}`)
  if (nodesPerReplica < 0) fail(`invalid negative value for nodesPerReplica: ${nodesPerReplica}`)
  const bounded = (amount: number, perReplica: number): number => {
    if (perReplica === 0) return 1
    const wanted = Math.ceil(amount / perReplica)
    return Math.max(min, max === 0 ? wanted : Math.min(max, wanted))
  }
  return (size) => {
    const { nodes, cores } = counted(size, params)
    const byNodes = bounded(nodes, nodesPerReplica)
    // Of a cluster with several nodes one may be lost.
    const safe = params['preventSinglePointFailure'] === true && nodes > 1 ? Math.max(2, byNodes) : byNodes
    return Math.max(bounded(cores, coresPerReplica), safe)
  }
}

type Step = readonly [from: number, replicas: number]

function ladder(params: Readonly<Record<string, unknown>>): ReplicasFor {
  const stepsAt = (key: string, name: string): Step[] => {
    const entries = params[key] ?? []
    if (!Array.isArray(entries)) throw new Error(`error parsing ladder params: could not parse parameters (${key} is not a list)`)
    const steps = entries.map((entry: unknown): Step => {
      const [from, replicas, ...more] = Array.isArray(entry) ? (entry as unknown[]) : []
      if (!Number.isInteger(from) || !Number.isInteger(replicas) || more.length > 0)
        throw new Error(`error parsing ladder params: invalid element ${JSON.stringify(entry)} in ${name}`)
      if ((from as number) < 0 || (replicas as number) < 0)
        throw new Error(`error parsing ladder params: invalid negative values in entry ${JSON.stringify(entry)} in ${name}`)
      return [from as number, replicas as number]
    })
    return steps.sort(([one], [other]) => one - other)
  }
  const byCores = stepsAt('coresToReplicas', 'cores_to_replicas_map')
  const byNodes = stepsAt('nodesToReplicas', 'nodes_to_replicas_map')
  return (size) => {
    const { nodes, cores } = counted(size, params)
    return Math.max(climbed(cores, byCores), climbed(nodes, byNodes))
  }
}

/** The last step that is reached; below the first one, the first. */
const climbed = (amount: number, steps: readonly Step[]): number => (steps.findLast(([from]) => from <= amount) ?? steps[0] ?? [0, 0])[1]

function counted(size: ClusterSize, params: Readonly<Record<string, unknown>>): { nodes: number; cores: number } {
  return params['includeUnschedulableNodes'] === true
    ? { nodes: size.totalNodes, cores: size.totalCores }
    : { nodes: size.schedulableNodes, cores: size.schedulableCores }
}
