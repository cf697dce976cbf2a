import { load } from 'js-yaml'
import { ConfigMap, Node } from '#api/core/v1/kinds.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import type { Client } from '#client/client.ts'
import { hasWay, type PodImages, sharedOptionsMap, wayData } from '#cmd/control-plane/shared-options.ts'
import { kubeletConfigurationDefaults } from '#cmd/init/joining-objects.ts'
import type { ClusterVersions } from '#cmd/upgrade/upgrade-plan.ts'
import { kubernetesVersion } from '#cmd/version.ts'

const place = { namespace: 'kube-system', name: 'kubeadm-config' }
type ClusterConfiguration = { kubernetesVersion?: string; [field: string]: unknown }

export async function clusterVersions(client: Client, server: string): Promise<ClusterVersions> {
  const { items } = await client.list(Node)
  return {
    target: kubernetesVersion,
    cluster: (await readConfiguration(client))?.kubernetesVersion ?? 'not said',
    server,
    nodes: items.map(({ metadata, status }) => ({
      name: metadata.name ?? '',
      version: status?.nodeInfo?.kubeletVersion ?? '',
      isControlPlane: metadata.labels?.['node-role.kubernetes.io/control-plane'] !== undefined,
      isReady: isConditionTrue(status?.conditions, 'Ready'),
    })),
  }
}

async function readConfiguration(client: Client): Promise<ClusterConfiguration | undefined> {
  const map = await client.get(ConfigMap, place.namespace, place.name).catch(ignoreNotFound)
  const text = map?.data?.['ClusterConfiguration']
  return text === undefined ? undefined : (load(text) as ClusterConfiguration)
}

/** What the cluster was brought to last; undefined where it says nothing of itself. */
export async function configuredVersion(client: Client): Promise<string | undefined> {
  return (await readConfiguration(client))?.kubernetesVersion
}

/** What tools take for the version of the cluster. Clusters of `up` say nothing of themselves. */
export async function writeClusterVersion(client: Client): Promise<void> {
  const configuration = await readConfiguration(client)
  if (configuration === undefined || configuration.kubernetesVersion === kubernetesVersion) return
  const text = `${JSON.stringify({ ...configuration, kubernetesVersion }, null, 2)}\n`
  await client.patch(ConfigMap, place, { data: { ClusterConfiguration: text } }, { type: 'merge' })
}

const kubeletPlace = { namespace: 'kube-system', name: 'kubelet-config' }

/** What nodes join with: fields that a new version has, and that nobody has said anything about, are written down. */
export async function writeKubeletConfiguration(client: Client): Promise<void> {
  const map = await client.get(ConfigMap, kubeletPlace.namespace, kubeletPlace.name).catch(ignoreNotFound)
  const text = map?.data?.['kubelet']
  if (text === undefined) return
  const written = load(text) as Record<string, unknown>
  const complete = { ...kubeletConfigurationDefaults, ...written }
  if (Object.keys(complete).length === Object.keys(written).length) return
  await client.patch(ConfigMap, kubeletPlace, { data: { kubelet: `${JSON.stringify(complete, null, 2)}\n` } }, { type: 'merge' })
}

/** How control planes that join later run, where a version that did not know of it has begun the cluster. */
export async function writeWay(client: Client, staticPods: PodImages | undefined): Promise<void> {
  const { namespace, name } = sharedOptionsMap
  const map = await client.get(ConfigMap, namespace, name).catch(ignoreNotFound)
  if (map === undefined || hasWay(map.data ?? {})) return
  await client.patch(ConfigMap, sharedOptionsMap, { data: wayData(staticPods) }, { type: 'merge' })
}
