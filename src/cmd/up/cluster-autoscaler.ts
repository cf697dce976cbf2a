/** The cluster autoscaler of a cluster in one process, with the nodes of its groups: simulated ones here, real ones of this machine. */
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { MachineGroups } from '#cluster-autoscaler/provider/machine-groups.ts'
import { type NodeGroupSpec, parseNodeGroup } from '#cluster-autoscaler/provider/parse-node-group.ts'
import { together } from '#cluster-autoscaler/provider/together.ts'
import { openClusterAutoscaler } from '#cluster-autoscaler/run-cluster-autoscaler.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import { machineNodes } from '#cmd/cluster-autoscaler/machine-nodes.ts'
import { commonOptions } from '#cmd/cluster-autoscaler/options-of-flags.ts'
import { simulatedMachines } from '#cmd/cluster-autoscaler/simulated-machines.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { leadUntilOver } from '#cmd/up/lead-until-over.ts'
import type { LocalNodes } from '#cmd/up/local-nodes.ts'
import { openSimulatedNodes } from '#cmd/up/nodes.ts'
import type { UpOptions } from '#cmd/up/options.ts'

export type ClusterAutoscalerParts = {
  apiServer: RunningApiServer
  options: UpOptions
  nodes: LocalNodes
  /** Whether this machine can have more nodes, each in a network namespace of its own. */
  hasMachineNodes: boolean
  /** No controller takes the taint of new nodes away, so it is done here. */
  clearsNotReadyTaint: boolean
}

/** Simulated nodes of groups have numbers, and so addresses, of their own. */
const firstNumber = 8192

/** Nobody else can lead inside this process, so there is no election. Resolves when it knows the cluster. */
export async function startClusterAutoscaler(stage: Stage, parts: ClusterAutoscalerParts, seams: ClusterSeams): Promise<void> {
  const { apiServer, options } = parts
  const { clock, random, files } = seams
  const logger = seams.logger.with({ component: 'cluster-autoscaler' })
  const specs = options.nodeGroup.map(parseNodeGroup)
  const client = clientInProcess(apiServer, 'system:serviceaccount:kube-system:cluster-autoscaler', ['system:masters'])
  const isSimulated = ({ isSimulated: isAsked }: NodeGroupSpec) => isAsked || !parts.hasMachineNodes
  const providers: MachineGroups[] = []
  const simulated = specs.filter(isSimulated)
  if (simulated.length > 0) {
    const { clearsNotReadyTaint } = parts
    const { nodes, connect } = openSimulatedNodes(apiServer, { count: 0, firstAdded: firstNumber, clearsNotReadyTaint }, seams)
    stage.defer(() => nodes.stop())
    await nodes.start(stage.signal)
    parts.nodes.serveBy(connect)
    providers.push(
      new MachineGroups({ name: 'simulated', groups: simulated, machines: simulatedMachines(nodes, { client, clock }), logger }),
    )
  }
  const real = specs.filter((spec) => !isSimulated(spec))
  if (real.length > 0) {
    const machines = machineNodes({ dataDir: options.dataDir, groups: real, client, clock, files })
    providers.push(new MachineGroups({ name: 'typernetes', groups: real, machines, logger }))
  }
  const provider = together(providers)
  stage.defer(() => provider.close())
  for (const each of providers) await each.start()
  const opened = openClusterAutoscaler({ client, clock, random, logger, provider, options: commonOptions(options) })
  await leadUntilOver(stage, opened)
}
