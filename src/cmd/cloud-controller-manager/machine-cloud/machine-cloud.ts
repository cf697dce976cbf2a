import { loadBalancerNodeAnnotation } from '#api/core/v1/load-balancer-node.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import type { Client } from '#client/client.ts'
import { kernelRoutes } from '#cmd/cloud-controller-manager/machine-cloud/kernel-routes.ts'
import type { MachineCloudConfig } from '#cmd/cloud-controller-manager/machine-cloud/machine-cloud-config.ts'
import { Machines, type MachinesOptions } from '#cmd/cloud-controller-manager/machine-cloud/machines.ts'
import { poolLoadBalancers } from '#cmd/cloud-controller-manager/machine-cloud/pool-load-balancers.ts'
import { wantsLoadBalancer } from '#controllers/cloud/balanced-services.ts'
import type { CloudInstances, CloudProvider } from '#controllers/cloud/cloud-provider.ts'
import { loadBalancerNodeController } from '#controllers/service-load-balancer/load-balancer-node-controller.ts'
import { hashOf } from '#network/bridge-network.ts'

export type MachineCloudOptions = {
  config: MachineCloudConfig
  client: Client
  files: Files
  processes: Processes
  own: MachinesOptions['own']
}

export const machineCloudName = 'typernetes'

/** The cloud that this machine is: nodes in network namespaces, load balancers of the nodes' own network, routes of the kernel. */
export function machineCloud({ config, client, files, processes, own }: MachineCloudOptions): CloudProvider {
  const machines = new Machines({ dataDir: config.dataDir, files, processes, own })
  const hasPools = config.loadBalancerPools.length > 0
  return {
    name: machineCloudName,
    instances: machineInstances(machines, config),
    routes: kernelRoutes(machines, processes),
    ...defined({
      loadBalancers: hasPools
        ? { ...poolLoadBalancers(config.loadBalancerPools, client), ownAnnotations: [loadBalancerNodeAnnotation] }
        : undefined,
      controllers: hasPools ? [loadBalancerNodeController(wantsLoadBalancer)] : undefined,
    }),
  }
}

function machineInstances(machines: Machines, config: MachineCloudConfig): CloudInstances {
  const prefix = `${machineCloudName}://${hashOf(config.dataDir)}/`
  /** The name that the cloud knows a machine by stays when somebody gives the node another provider ID. */
  const nameOf = ({ metadata, spec }: V1Node): string =>
    spec?.providerID?.startsWith(prefix) ? spec.providerID.slice(prefix.length) : (metadata.name ?? '')
  return {
    exists: async (node) => (await machines.find(nameOf(node))) !== undefined,
    isShutDown: async (node) => (await machines.find(nameOf(node)))?.isRunning === false,
    async metadata(node) {
      const name = nameOf(node)
      const machine = await machines.find(name)
      if (machine === undefined) throw new Error(`instance not found: there is no machine ${name} in ${config.dataDir}`)
      const { zone = config.zone, instanceType = config.instanceType, labels = {} } = config.machines[name] ?? {}
      const addresses = machine.addresses.map((address) => ({ type: 'InternalIP', address }))
      return {
        ...{ providerId: `${prefix}${name}`, region: config.region, zone, instanceType, labels },
        addresses: [...addresses, { type: 'Hostname', address: name }],
      }
    },
  }
}
