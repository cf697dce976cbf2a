/** Installs the programs that tests use and this machine lacks: as root on Debian; elsewhere it says what is missing. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/** Programs and the Debian packages they come in; those that are not called by name have a place to be looked for. */
const tools: { command: string; package: string; place?: string }[] = [
  { command: 'etcd', package: 'etcd-server' },
  { command: 'etcdctl', package: 'etcd-client' },
  { command: 'containerd', package: 'containerd' },
  { command: 'runc', package: 'runc' },
  { command: 'bridge', package: 'containernetworking-plugins', place: '/usr/lib/cni/bridge' },
  { command: 'iptables', package: 'iptables' },
  { command: 'ip', package: 'iproute2' },
  { command: 'bird', package: 'bird2' },
  { command: 'nft', package: 'nftables' },
  { command: 'conntrack', package: 'conntrack' },
  { command: 'python3-kubernetes', package: 'python3-kubernetes', place: '/usr/lib/python3/dist-packages/kubernetes' },
  { command: 'prometheus', package: 'prometheus' },
  { command: 'dig', package: 'bind9-dnsutils' },
  { command: 'docker-registry', package: 'docker-registry' },
  { command: 'dockerd', package: 'docker.io' },
  { command: 'mkfs.ext4', package: 'e2fsprogs' },
  { command: 'mkfs.xfs', package: 'xfsprogs' },
  { command: 'busybox', package: 'busybox-static', place: '/usr/share/doc/busybox-static' },
]

const isThere = ({ command, place }: (typeof tools)[number]): boolean =>
  place === undefined ? spawnSync('sh', ['-c', `command -v ${command}`]).status === 0 : existsSync(place)
const missing = tools.filter((tool) => !isThere(tool))
if (missing.length > 0) {
  const packages = missing.map((tool) => tool.package)
  if (!canInstall()) console.log(`not installed, so tests that need them are skipped: ${missing.map(({ command }) => command).join(', ')}`)
  else if (!install(packages)) console.log(`could not install ${packages.join(', ')}; tests that need them are skipped`)
}

function canInstall(): boolean {
  const isDebian = existsSync('/etc/debian_version') && readFileSync('/etc/os-release', 'utf8').includes('ID=debian')
  return isDebian && process.getuid?.() === 0
}

/** Installs without starting any of the packages' services. */
function install(packages: string[]): boolean {
  const policy = '/usr/sbin/policy-rc.d'
  const isOurs = !existsSync(policy)
  if (isOurs) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    const apt = (...args: string[]) =>
      spawnSync('apt-get', ['-qq', ...args], { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
    const isDone = () => apt('install', '-y', '--no-install-recommends', ...packages).status === 0
    return isDone() || (apt('update').status === 0 && isDone())
  } finally {
    if (isOurs) rmSync(policy, { force: true })
  }
}
