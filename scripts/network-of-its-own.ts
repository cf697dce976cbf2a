/**
 * A network that nobody else changes, for tests with real nodes: what other tests do beside them, and what earlier ones or other clusters
 * have left on the machine, is out of sight.
 */
import { spawnSync } from 'node:child_process'

/** As of a machine with one link, whose gateway does not answer. */
const lay = `
ip link set lo up
ip link add eth0 type veth peer name outside
ip address add 198.51.100.10/24 dev eth0
ip link set outside up
ip link set eth0 up
ip route add default via 198.51.100.1
exec "$@"`

/**
 * What a program is started by that is to run on one; nothing where there can be none. Mounts are its own too, since namespaces with names
 * are; those that others take off go from it as well.
 */
export function onNetworkOfItsOwn(): string[] {
  holdNamedNamespaces()
  const words = ['unshare', '--net', '--mount', '--propagation', 'slave', 'sh', '-ec', lay, 'sh']
  return process.platform === 'linux' && spawnSync(words[0] ?? '', [...words.slice(1), 'true']).status === 0 ? words : []
}

/**
 * The first namespace with a name makes its directory a mount. On a machine that has had none, that would come from some test in the middle
 * of others, and cover what these have there.
 */
function holdNamedNamespaces(): void {
  const name = `tn-first-${process.pid}`
  spawnSync('ip', ['netns', 'add', name])
  spawnSync('ip', ['netns', 'delete', name])
}
