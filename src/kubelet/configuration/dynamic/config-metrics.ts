import type { Metrics } from '#base/metrics.ts'
import type { ConfigVersion } from '#kubelet/configuration/dynamic/config-store.ts'

type Source = 'assigned' | 'active' | 'last_known_good'

export type ConfigFigures = { readonly sources: Readonly<Record<Source, ConfigVersion | undefined>>; readonly hasError: boolean }

/** Where a kubelet's configuration comes from, by upstream's names. */
export function addConfigMetrics(metrics: Metrics, read: () => ConfigFigures): void {
  for (const source of ['assigned', 'active', 'last_known_good'] as const) {
    const help = `The labels name the ${source.replaceAll('_', ' ')} configuration of the kubelet; always 1.`
    metrics.measured(`kubelet_node_config_${source}`, help, () => [[labelsOf(read().sources[source]), 1]])
  }
  const help = 'Whether the kubelet has trouble with the configuration that its node names.'
  metrics.measured('kubelet_node_config_error', help, () => (read().hasError ? 1 : 0))
}

function labelsOf(version: ConfigVersion | undefined): Record<string, string> {
  if (version === undefined) return { node_config_source: 'local' }
  const { namespace, name, uid, resourceVersion, kubeletConfigKey } = version
  return {
    node_config_source: `/api/v1/namespaces/${namespace}/configmaps/${name}`,
    node_config_uid: uid,
    node_config_resource_version: resourceVersion,
    node_config_kubelet_key: kubeletConfigKey,
  }
}
