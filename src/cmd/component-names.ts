/** The names people type; `bin/typernetes.js` is the command of that name, without `kube-`, where it is called so. */
export const componentNames: readonly string[] = [
  'kube-apiserver',
  'kube-controller-manager',
  'cloud-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
]

const components: ReadonlySet<string> = new Set(componentNames.map((name) => name.replace(/^kube-/, '')))

/** Components take `--etcd_servers` for `--etcd-servers`, as upstream's do. */
export function withDashes(argv: readonly string[]): readonly string[] {
  // The one flag of upstream's that is written otherwise than all the others.
  if (argv[2] === 'addon-resizer') return argv.map((arg) => arg.replace(/^--minClusterSize/, '--min-cluster-size'))
  if (!components.has(argv[2] ?? '')) return argv
  return argv.map((arg) => (arg.startsWith('--') ? arg.replace(/^[^=]*/, (name) => name.replaceAll('_', '-')) : arg))
}
