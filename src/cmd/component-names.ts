/** The names people type; `bin/typernetes.js` is the command that follows `kube-`, or the kubelet, where it is called so. */
export const componentNames: readonly string[] = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy']

const components: ReadonlySet<string> = new Set(componentNames.map((name) => name.replace(/^kube-/, '')))

/** Components take `--etcd_servers` for `--etcd-servers`, as upstream's do. */
export function withDashes(argv: readonly string[]): readonly string[] {
  if (!components.has(argv[2] ?? '')) return argv
  return argv.map((arg) => (arg.startsWith('--') ? arg.replace(/^[^=]*/, (name) => name.replaceAll('_', '-')) : arg))
}
