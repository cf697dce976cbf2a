/** A control plane as static pods, laid out as kubeadm does: manifests for the kubelet's directory. */
import type { V1Container, V1Pod, V1Probe, V1VolumeMount } from '#api/core/v1/types.gen.ts'
import { type PassedFlags, withPassed } from '#cmd/control-plane/passed-flags.ts'
import { etcdMetricsPort } from '#cmd/own-etcd/etcd-member.ts'

export type StaticPodFacts = {
  dataDir: string
  /** Where this machine's API server listens. */
  address: string
  port: number
  /** `host`: the program itself, by these words, from the machine's own files; else an image that has upstream's names. */
  image: string
  program: readonly string[]
  /** Directories that the program lies in. */
  programDirectories: readonly string[]
  etcdServers: readonly string[]
  etcdFiles: { etcdCafile: string; etcdCertfile: string; etcdKeyfile: string }
  serviceCidrs: string
  podCidrs: readonly string[]
  hasEncryption: boolean
  featureGates: readonly string[]
  /** Of the program: pods of another one are made anew. */
  version: string
  verticalPodAutoscaler: boolean
  /** There are manifests of users among what it does, which may be anything. */
  appliesAddons: boolean
  /** Of the member of etcd that this machine runs; undefined where etcd is somebody else's. */
  etcd: { flags: readonly string[]; image: string } | undefined
  /** What components are told beside what all of them are. */
  passed: Partial<Readonly<Record<ComponentName, PassedFlags>>>
  hasScheduler: boolean
}

type ComponentName = 'apiserver' | 'controller-manager' | 'scheduler' | 'addons'

type Component = { name: ComponentName; flags: readonly string[]; port: number; host: string }

/** By the name of the manifest's file. */
export function controlPlanePods(facts: StaticPodFacts): Map<string, V1Pod> {
  const asked = components(facts).filter(({ name }) => name !== 'scheduler' || facts.hasScheduler)
  const pods = new Map(asked.map((component) => [`${fullName(component)}.yaml`, podOf(component, facts)]))
  if (facts.etcd !== undefined) pods.set('etcd.yaml', etcdPod(facts.etcd, facts))
  return pods
}

const fullName = ({ name }: Component): string => (name === 'addons' ? 'typernetes-addons' : `kube-${name}`)

function components(facts: StaticPodFacts): Component[] {
  const { dataDir, address, port, serviceCidrs, podCidrs, etcdFiles } = facts
  const pki = (name: string) => `${dataDir}/pki/${name}`
  const gates = facts.featureGates.length === 0 ? [] : [`--feature-gates=${facts.featureGates.join(',')}`]
  const given = (flag: string, value: string) => (value === '' ? [] : [`--${flag}=${value}`])
  const kubeconfig = (name: string) => `--kubeconfig=${dataDir}/${name}.kubeconfig`
  return [
    {
      ...{ name: 'apiserver', port, host: address },
      flags: [
        `--advertise-address=${address}`,
        `--secure-port=${port}`,
        `--etcd-servers=${facts.etcdServers.join(',')}`,
        ...given('etcd-cafile', etcdFiles.etcdCafile),
        ...given('etcd-certfile', etcdFiles.etcdCertfile),
        ...given('etcd-keyfile', etcdFiles.etcdKeyfile),
        '--authorization-mode=Node,RBAC',
        '--enable-admission-plugins=NodeRestriction',
        '--enable-bootstrap-token-auth=true',
        `--client-ca-file=${pki('ca.crt')}`,
        // One file has both, in PEM.
        `--tls-cert-file=${pki('apiserver.pem')}`,
        `--tls-private-key-file=${pki('apiserver.pem')}`,
        `--kubelet-client-certificate=${pki('apiserver-kubelet-client.pem')}`,
        `--kubelet-client-key=${pki('apiserver-kubelet-client.pem')}`,
        '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
        `--proxy-client-cert-file=${pki('front-proxy-client.pem')}`,
        `--proxy-client-key-file=${pki('front-proxy-client.pem')}`,
        `--requestheader-client-ca-file=${pki('front-proxy-ca.crt')}`,
        '--requestheader-allowed-names=front-proxy-client',
        '--requestheader-extra-headers-prefix=X-Remote-Extra-',
        '--requestheader-group-headers=X-Remote-Group',
        '--requestheader-username-headers=X-Remote-User',
        '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
        `--service-account-key-file=${pki('sa.pub')}`,
        `--service-account-signing-key-file=${pki('sa.key')}`,
        `--service-cluster-ip-range=${serviceCidrs}`,
        ...(facts.hasEncryption ? [`--encryption-provider-config=${pki('encryption.json')}`] : []),
        ...gates,
      ],
    },
    {
      ...{ name: 'controller-manager', port: 10_257, host: '127.0.0.1' },
      flags: [
        kubeconfig('controller-manager'),
        '--bind-address=127.0.0.1',
        '--controllers=*,bootstrapsigner,tokencleaner',
        '--leader-elect=true',
        '--use-service-account-credentials=true',
        `--root-ca-file=${pki('ca.crt')}`,
        `--cluster-signing-cert-file=${pki('ca.crt')}`,
        `--cluster-signing-key-file=${pki('ca.key')}`,
        `--service-account-private-key-file=${pki('sa.key')}`,
        '--allocate-node-cidrs=true',
        `--cluster-cidr=${podCidrs.join(',')}`,
        `--service-cluster-ip-range=${serviceCidrs}`,
        ...(facts.verticalPodAutoscaler ? ['--vertical-pod-autoscaler'] : []),
        ...gates,
      ],
    },
    {
      ...{ name: 'scheduler', port: 10_259, host: '127.0.0.1' },
      flags: [kubeconfig('scheduler'), '--bind-address=127.0.0.1', '--leader-elect=true', ...gates],
    },
    addons(facts),
  ]
}

function addons({ dataDir, appliesAddons }: StaticPodFacts): Component {
  const kubeconfig = (name: string) => `kubeconfig=${dataDir}/${name}.kubeconfig`
  const flags = [`--${kubeconfig('addons')}`, '--bind-address=127.0.0.1']
  if (appliesAddons) flags.push(`--addons-${kubeconfig('addon-manager')}`)
  return { name: 'addons', port: 10_261, host: '127.0.0.1', flags }
}

function podOf(component: Component, facts: StaticPodFacts): V1Pod {
  const { name, port, host } = component
  const { dataDir, image } = facts
  const passed = facts.passed[name] ?? { flags: [], reads: [], writes: [] }
  const flags = withPassed(component.flags, passed)
  const full = fullName(component)
  const isHost = image === 'host'
  // An API server says where it is once it has started; the others answer on paths of the same names.
  const probe = (path: string, failureThreshold: number): V1Probe => ({
    httpGet: { scheme: 'HTTPS', host, path, port },
    ...{ initialDelaySeconds: 10, periodSeconds: 10, timeoutSeconds: 15, failureThreshold },
  })
  const own = [dataDir, ...(isHost ? facts.programDirectories : [])]
  const mounts = [...new Set([...own, ...passed.reads.filter((path) => !isWithin(path, own))])]
  // Compiled code is kept for the next start, and for the other components.
  const written = [...(isHost ? [`${dataDir}/cache`] : []), ...passed.writes]
  const directories = [...mounts.filter((path) => !written.includes(path)), ...written]
  const volumeMounts: V1VolumeMount[] = directories.map((mountPath, index) => ({
    ...{ name: `d${index}`, mountPath },
    ...(!written.includes(mountPath) && { readOnly: true }),
  }))
  const container: V1Container = {
    name: full,
    image,
    command: [...(isHost ? [...facts.program, name] : name === 'addons' ? ['typernetes', name] : [full]), ...flags],
    livenessProbe: probe(name === 'apiserver' ? '/livez' : '/healthz', 8),
    startupProbe: probe(name === 'apiserver' ? '/livez' : '/healthz', 24),
    volumeMounts,
    ...(isHost && { env: [{ name: 'NODE_COMPILE_CACHE', value: `${dataDir}/cache/compiled` }] }),
  }
  const pod = staticPod(container, directories, written)
  return { ...pod, metadata: { ...pod.metadata, annotations: { 'typernetes.dev/version': facts.version } } }
}

const isWithin = (path: string, directories: readonly string[]): boolean =>
  directories.some((directory) => path === directory || path.startsWith(`${directory}/`))

/** Its data is the machine's, and outlives the pod. */
function etcdPod({ flags, image }: { flags: readonly string[]; image: string }, { dataDir }: StaticPodFacts): V1Pod {
  const probe = (path: string, failureThreshold: number): V1Probe => ({
    httpGet: { scheme: 'HTTP', host: '127.0.0.1', path, port: etcdMetricsPort },
    ...{ initialDelaySeconds: 10, periodSeconds: 10, timeoutSeconds: 15, failureThreshold },
  })
  const mounts = [`${dataDir}/etcd`, `${dataDir}/pki`]
  const container: V1Container = {
    ...{ name: 'etcd', image, command: ['etcd', ...flags] },
    livenessProbe: probe('/health?serializable=true', 8),
    startupProbe: probe('/health?serializable=true', 24),
    volumeMounts: mounts.map((mountPath, index) => ({ name: `d${index}`, mountPath, ...(index === 1 && { readOnly: true }) })),
  }
  return staticPod(container, mounts)
}

/** It may be a file. */
const isOfRoot = (path: string): boolean => path.lastIndexOf('/') === 0

/** `created`: those that may be missing. */
function staticPod(container: V1Container, directories: readonly string[], created: readonly string[] = []): V1Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: container.name, namespace: 'kube-system', labels: { component: container.name, tier: 'control-plane' } },
    spec: {
      hostNetwork: true,
      priorityClassName: 'system-node-critical',
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [container],
      volumes: directories.map((path, index) => ({
        name: `d${index}`,
        hostPath: { path, type: created.includes(path) ? 'DirectoryOrCreate' : isOfRoot(path) ? '' : 'Directory' },
      })),
    },
  }
}
