/** Subresources that are more than a write of their object, as discovery lists them. */
export type ConnectSubresource = {
  group: string
  kind: string
  kindGroup?: string
  kindVersion?: string
  verbs: readonly string[]
}

const proxyVerbs = ['create', 'delete', 'get', 'patch', 'update']

export const connectSubresources: Readonly<Record<string, ConnectSubresource>> = {
  'namespaces/finalize': { group: '', kind: 'Namespace', verbs: ['update'] },
  'nodes/proxy': { group: '', kind: 'NodeProxyOptions', verbs: proxyVerbs },
  'pods/attach': { group: '', kind: 'PodAttachOptions', verbs: ['create', 'get'] },
  'pods/binding': { group: '', kind: 'Binding', verbs: ['create'] },
  'pods/eviction': { group: '', kind: 'Eviction', kindGroup: 'policy', kindVersion: 'v1', verbs: ['create'] },
  'pods/exec': { group: '', kind: 'PodExecOptions', verbs: ['create', 'get'] },
  'pods/log': { group: '', kind: 'Pod', verbs: ['get'] },
  'pods/portforward': { group: '', kind: 'PodPortForwardOptions', verbs: ['create', 'get'] },
  'pods/proxy': { group: '', kind: 'PodProxyOptions', verbs: proxyVerbs },
  'serviceaccounts/token': { group: '', kind: 'TokenRequest', kindGroup: 'authentication.k8s.io', kindVersion: 'v1', verbs: ['create'] },
  'services/proxy': { group: '', kind: 'ServiceProxyOptions', verbs: proxyVerbs },
}
