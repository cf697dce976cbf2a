import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { MachineGroups } from '#cluster-autoscaler/provider/machine-groups.ts'
import type { NodeGroupProvider } from '#cluster-autoscaler/provider/node-group.ts'
import { parseNodeGroup } from '#cluster-autoscaler/provider/parse-node-group.ts'
import type { ClusterAutoscalerFlags } from '#cmd/cluster-autoscaler/flags.ts'
import { machineNodes } from '#cmd/cluster-autoscaler/machine-nodes.ts'
import { simulatedMachines } from '#cmd/cluster-autoscaler/simulated-machines.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { SimulatedNodes } from '#kubelet/node/simulated-nodes.ts'

export type ProviderSeams = { client: Client; clock: Clock; random: Random; logger: Logger; files: Files }

/** By `--cloud-provider`. */
export async function openProvider(stage: Stage, flags: ClusterAutoscalerFlags, seams: ProviderSeams): Promise<NodeGroupProvider> {
  const { client, clock, random, logger, files } = seams
  if (flags.cloudProvider === 'externalgrpc') {
    if (flags.cloudConfig === '')
      throw new Error('--cloud-provider=externalgrpc wants --cloud-config, a file with the address of the provider')
    const { openExternalGrpc } = await import('#cluster-autoscaler/provider/external-grpc/open-external-grpc.ts')
    const provider = await openExternalGrpc(flags.cloudConfig, files)
    stage.defer(() => provider.close())
    return provider
  }
  if (flags.nodes.length === 0) throw new Error('no node group is given: --nodes=MIN:MAX:NAME, such as --nodes=1:10:workers')
  const groups = flags.nodes.map(parseNodeGroup)
  if (flags.cloudProvider === 'typernetes') {
    const machines = machineNodes({ dataDir: flags.dataDir, groups, client, clock, files })
    return started(stage, new MachineGroups({ name: 'typernetes', groups, machines, logger }))
  }
  const nodes = new SimulatedNodes({ count: 0, client, clientOf: () => client, clock, random, logger, version: kubernetesVersion })
  stage.defer(() => nodes.stop())
  await nodes.start(stage.signal)
  return started(stage, new MachineGroups({ name: 'simulated', groups, machines: simulatedMachines(nodes, { client, clock }), logger }))
}

async function started(stage: Stage, groups: MachineGroups): Promise<MachineGroups> {
  stage.defer(() => groups.close())
  await groups.start()
  return groups
}
