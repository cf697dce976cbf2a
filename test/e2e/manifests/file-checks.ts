/** Rows of files that programs read: the parts that read them are asked. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { nodeFiles } from '#base/files.ts'
import { addOptions, type OptionDeclarations } from '#base/options.ts'
import { nodeProcesses } from '#base/processes.ts'
import { controllerManagerOptions, managerFlagsWithoutEffect } from '#cmd/controller-manager/flags.ts'
import { kubeletOptions } from '#cmd/kubelet/command.ts'
import { schedulerOptions } from '#cmd/scheduler/command.ts'
import { upOptions } from '#cmd/up/options.ts'
import { readKubeletConfiguration } from '#kubelet/configuration/read-configuration.ts'
import { bridge } from '#network/cni/bridge.ts'
import { delegateConf } from '#network/cni/flannel.ts'
import { runPlugin } from '#network/cni/run-plugin.ts'
import { peerOf } from '#network/pod-network/flannel-annotations.ts'
import { hostGatewayPlan } from '#network/pod-network/host-gw.ts'
import { type BackendType, parseNetConf } from '#network/pod-network/net-conf.ts'
import { parseSubnetEnv } from '#network/pod-network/subnet-env.ts'
import { readConfiguration } from '#scheduler/config/read-configuration.ts'
import type { ManifestTools, Seen } from './manifest-tools.ts'

const textOf = (cluster: ManifestTools, file: string): string => readFileSync(cluster.path(file), 'utf8')

export async function kubeletTakes(cluster: ManifestTools, file: string): Promise<void> {
  const { configuration, ignored } = await readKubeletConfiguration(textOf(cluster, file), file)
  const { staticPodPath, clusterDomain, clusterDNS, evictionHard } = configuration
  assert.deepEqual([staticPodPath, clusterDomain, clusterDNS], ['/etc/kubernetes/manifests', 'cluster.local', ['21.1.0.3']])
  assert.deepEqual([evictionHard['memory.available'], ignored], ['200Mi', []])
}

/** The predicates and priorities of the file, as the plugins that they have become. */
export async function schedulerTakes(cluster: ManifestTools, file: string): Promise<void> {
  const { profiles } = await readConfiguration(textOf(cluster, file), file)
  const [profile] = profiles
  const filters = new Set(profile?.plugins?.multiPoint?.enabled?.map(({ name }) => name))
  for (const name of ['NodeResourcesFit', 'NodePorts', 'NodeName', 'NodeAffinity', 'VolumeZone', 'VolumeRestrictions'])
    assert.ok(filters.has(name), `${name} is not among ${[...filters].join(', ')}`)
}

const declaredFor: Record<string, OptionDeclarations> = {
  kubelet: kubeletOptions,
  'kube-scheduler': schedulerOptions,
  'kube-controller-manager': { ...controllerManagerOptions, ...managerFlagsWithoutEffect },
  'kube-apiserver': upOptions,
}

/** Each flag is taken, or refused by its name. */
export function flagsAreKnownOrNamed(cluster: ManifestTools, file: string): void {
  const lines = textOf(cluster, file).split('\n')
  const outcomes = lines.filter((line) => line !== '' && !line.startsWith('#')).map(outcomeOf)
  assert.ok(outcomes.filter((outcome) => outcome === 'taken').length > outcomes.length / 2, outcomes.join('\n'))
}

function outcomeOf(line: string): string {
  const [component = '', ...words] = line.split(' ')
  const [, flag = '', value = ''] = /^(--[a-z-]+)[= ]?"?(.*?)"?$/.exec(words.join(' ')) ?? []
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} })
  addOptions(command, declaredFor[component] ?? {}, { hasOwnConfig: true })
  try {
    command.parse([`${flag}=${value}`], { from: 'user' })
    return 'taken'
  } catch (error) {
    const { message } = error as Error
    assert.ok(message.includes(flag), `${line}: ${message}`)
    return message
  }
}

export function networkIs(cluster: ManifestTools, file: string, network: string, type: BackendType): void {
  const { networks, subnetLengths, backend } = parseNetConf(textOf(cluster, file))
  assert.deepEqual([networks, subnetLengths.ipv4, backend.type], [[network], 24, type])
}

/** The bridge gets the node's own piece of the network, and a route to all of it. */
export function flannelPluginReads(cluster: ManifestTools, file: string): void {
  const conf = { name: 'cbr0', type: 'flannel', cniVersion: '1.0.0' }
  const { type, mtu, ipMasq, ipam } = delegateConf(conf, parseSubnetEnv(textOf(cluster, file))) as Seen
  assert.deepEqual([type, mtu, ipMasq], ['bridge', 1472, true])
  assert.deepEqual([ipam.ranges, ipam.routes], [[[{ subnet: '10.1.40.0/24' }]], [{ dst: '10.1.0.0/16' }]])
}

export async function pluginRefuses(cluster: ManifestTools, file: string): Promise<void> {
  const environment = { CNI_COMMAND: 'ADD', CNI_CONTAINERID: 'c', CNI_NETNS: '/none', CNI_IFNAME: 'eth0', CNI_PATH: '/none' }
  const seams = { files: nodeFiles, processes: nodeProcesses }
  const { exitCode, output } = await runPlugin(bridge, environment, textOf(cluster, file), seams)
  const { code, msg } = JSON.parse(output)
  assert.deepEqual([exitCode, code], [1, 1])
  assert.match(msg, /incompatible CNI versions: config is "0\.6\.0"/)
}

/** The leases of the file are routes by way of their nodes. */
export function routesAre(cluster: ManifestTools, file: string, wanted: readonly (readonly [to: string, via: string])[]): void {
  const peers = textOf(cluster, file)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { key: string; value: { PublicIP: string; BackendType: string } })
    .map(({ key, value }) => ({
      name: value.PublicIP,
      addresses: [value.PublicIP],
      podCidrs: [key.slice(key.lastIndexOf('/') + 1).replace('-', '/')],
      backend: { type: value.BackendType, data: {}, dataV6: {} },
    }))
  const uplink = { interface: 'eth0', mtu: 1500, address: '192.168.56.103', range: '192.168.56.0/24' }
  const { routes, problems } = hostGatewayPlan(uplink, peers)
  assert.deepEqual([routes, problems], [wanted.map(([to, via]) => ({ to, via, device: 'eth0' })), []])
}

/** What the node's annotations say makes it a peer of a vxlan. */
export function isVxlanPeer(cluster: ManifestTools): void {
  const node = cluster.get('node node1')
  const peer = peerOf({ ...node, spec: { ...node.spec, podCIDR: '10.244.9.0/24', podCIDRs: ['10.244.9.0/24'] } })
  assert.deepEqual([peer?.addresses, peer?.backend?.type, peer?.backend?.data], [['10.39.0.46'], 'vxlan', { VtepMAC: '8e:11:4d:6c:15:1c' }])
}
