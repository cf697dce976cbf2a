import type { ExtendedKeyUsage, SubjectAltNames } from '#wire/x509/certificate.ts'
import type { SubjectName } from '#wire/x509/distinguished-name.ts'

/**
 * A cluster has three authorities: one for everybody, one that only speaks for the proxy in front of extension servers, and one for
 * those who may look into the store itself, where no permission is asked for.
 */
export type AuthorityName = 'ca' | 'front-proxy-ca' | 'etcd-ca'

export const authorities: Record<AuthorityName, { commonName: string }> = {
  ca: { commonName: 'kubernetes' },
  'front-proxy-ca': { commonName: 'front-proxy-ca' },
  'etcd-ca': { commonName: 'etcd-ca' },
}

/** A certificate that the cluster keeps for itself and renews by itself. */
export type Identity = {
  /** Also the file's name. */
  name: string
  signer: AuthorityName
  subject: SubjectName
  usages: readonly ExtendedKeyUsage[]
  subjectAltNames?: SubjectAltNames
}

export type ServingAddresses = {
  hostName: string
  /** The first of the service range: where pods find the API. */
  serviceIp: string
  clusterDomain: string
  /** Further names and addresses clients may use: where the server listens, what it advertises. */
  addresses: readonly string[]
  dnsNames?: readonly string[]
}

/** Names and groups are upstream's: the default role bindings give them their permissions. */
export function clusterIdentities(serving: ServingAddresses): Identity[] {
  const service = 'kubernetes.default.svc'
  return [
    {
      name: 'apiserver',
      signer: 'ca',
      subject: { commonName: 'kube-apiserver' },
      usages: ['serverAuth'],
      subjectAltNames: {
        dnsNames: distinct([
          'kubernetes',
          'kubernetes.default',
          service,
          `${service}.${serving.clusterDomain}`,
          'localhost',
          serving.hostName,
          ...(serving.dnsNames ?? []),
        ]),
        ipAddresses: distinct(['127.0.0.1', '::1', serving.serviceIp, ...serving.addresses]),
      },
    },
    client('apiserver-kubelet-client', 'kube-apiserver-kubelet-client', ['system:masters']),
    { ...client('front-proxy-client', 'front-proxy-client'), signer: 'front-proxy-ca' },
    client('admin', 'kubernetes-admin', ['system:masters']),
    client('controller-manager', 'system:kube-controller-manager'),
    client('scheduler', 'system:kube-scheduler'),
    client('kube-proxy', 'system:kube-proxy'),
  ]
}

/** Of what runs beside the components, where that is a program of its own, and of who applies whatever manifests users give it. */
export const addonsIdentities: readonly Identity[] = [client('addons', 'typernetes:addons')]
export const addonManagerIdentities: readonly Identity[] = [client('addon-manager', 'system:addon-manager', ['system:masters'])]

/** What the store shows where it is served as etcd, and what its clients show. */
export function storeIdentities(addresses: readonly string[]): Identity[] {
  return [
    {
      name: 'etcd-server',
      signer: 'etcd-ca',
      subject: { commonName: 'etcd-server' },
      // An etcd calls itself by it: its JSON gateway is a client.
      usages: ['serverAuth', 'clientAuth'],
      subjectAltNames: { dnsNames: ['localhost'], ipAddresses: distinct(['127.0.0.1', '::1', ...addresses]) },
    },
    { ...client('etcd-client', 'etcd-client'), signer: 'etcd-ca' },
  ]
}

/** Of a member of an etcd cluster, which shows itself to the other members, too. */
export function etcdMemberIdentities(name: string, addresses: readonly string[]): Identity[] {
  const [server, ...others] = storeIdentities(addresses) as [Identity, ...Identity[]]
  return [server, { ...server, name: 'etcd-peer', subject: { commonName: name } }, ...others]
}

/** What a kubelet shows to the API server, and what it shows to those who call it. */
export function nodeIdentities(nodeName: string, addresses: readonly string[]): Identity[] {
  const subject = { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }
  return [
    { name: nodeClientName(nodeName), signer: 'ca', subject, usages: ['clientAuth'] },
    {
      name: nodeServingName(nodeName),
      signer: 'ca',
      subject,
      usages: ['serverAuth'],
      subjectAltNames: { dnsNames: distinct([nodeName, 'localhost']), ipAddresses: distinct(['127.0.0.1', '::1', ...addresses]) },
    },
  ]
}

export const nodeClientName = (nodeName: string): string => `kubelet-client-${nodeName}`
export const nodeServingName = (nodeName: string): string => `kubelet-serving-${nodeName}`

function client(name: string, commonName: string, organizations: readonly string[] = []): Identity {
  return { name, signer: 'ca', subject: { commonName, organizations }, usages: ['clientAuth'] }
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].filter((value) => value !== '')
}
