/** Attempts of containers to reach what is not theirs. */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { thisProcess } from '#base/machine.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import { type ContainerConfig, type ContainerSecurityContext, containerStates, namespaceModes } from '#wire/cri/cri-types.ts'
import { writeImageArchive } from '#wire/oci/image-archive.ts'
import { startTestEmbedded, type TestEmbedded, whyNoEmbedded, whyNoPodUsers } from '../support/embedded.ts'
import { busyboxPath, testImage } from '../support/test-image.ts'

const needsUsers = { skip: thisProcess.userNamespace?.hasOneUser === true && 'the user namespace has one user' }
const needsOwnUsers = { skip: await whyNoPodUsers() }
const hostileImage = 'typernetes.test/hostile:1'

describe('containers of the embedded runtime do not get out', { skip: whyNoEmbedded(), timeout: 600_000 }, () => {
  let world: TestEmbedded
  let outside: string

  before(async () => {
    world = await startTestEmbedded()
    outside = mkdtempSync(join(tmpdir(), 'tn-outside-'))
    writeFileSync(join(outside, 'secret'), 'of the node')
    const archive = join(world.directory, 'hostile.tar')
    const bin = { path: 'bin/busybox', content: readFileSync(busyboxPath), mode: 0o4755 }
    const links = [
      { path: 'bin/sh', target: 'busybox' },
      { path: 'data', target: `../../../../../..${outside}` },
      { path: 'etc', target: outside },
      { path: 'dev', target: outside },
      { path: 'proc', target: outside },
    ]
    const layer = [bin, ...links.slice(0, 2).map((link) => ({ ...link, kind: 'symlink' as const }))]
    const worse = [bin, ...links.map((link) => ({ ...link, kind: 'symlink' as const }))]
    const architecture = process.arch === 'x64' ? 'amd64' : process.arch
    const config = { Env: ['PATH=/bin'] }
    writeFileSync(
      archive,
      writeImageArchive([
        { name: hostileImage, architecture, layers: [layer], config },
        { name: 'typernetes.test/worse:1', architecture, layers: [worse], config },
      ]),
    )
    await world.runtime.images.import(archive)
  })
  after(async () => {
    await world?.[Symbol.asyncDispose]()
    rmSync(outside, { recursive: true, force: true, maxRetries: 20 })
  })

  let count = 0
  /** Runs a script to its end; resolves with what it said, errors included. */
  const run = async (
    script: string,
    { security = {}, ...more }: Partial<ContainerConfig> & { security?: ContainerSecurityContext } = {},
    modes = {},
    whileItRuns = async (_client: CriConnection, _containerId: string): Promise<void> => {},
  ): Promise<string> => {
    using client = await world.client()
    const name = `escape-${count++}`
    const namespaceOptions = { network: namespaceModes.node, pid: namespaceModes.container, ipc: namespaceModes.pod, ...modes }
    const logDirectory = join(world.directory, 'logs', name)
    const config = {
      ...{ metadata: { name, namespace: 'default', uid: name, attempt: 0 }, hostname: name, logDirectory },
      linux: { cgroupParent: `/${world.podCgroup}/${name}`, securityContext: { namespaceOptions } },
    }
    const { podSandboxId } = await client.call('runPodSandbox', { config, runtimeHandler: '' })
    try {
      const container: ContainerConfig = {
        ...{
          metadata: { name: 'main', attempt: 0 },
          image: { image: testImage },
          command: ['sh', '-c', `exec 2>&1; ${script}`],
          logPath: 'log',
        },
        ...more,
        linux: {
          securityContext: {
            namespaceOptions,
            maskedPaths: ['/proc/timer_list', '/sys/firmware'],
            readonlyPaths: ['/proc/sys', '/proc/sysrq-trigger'],
            ...security,
          },
        },
      }
      const { containerId } = await client.call('createContainer', { podSandboxId, config: container, sandboxConfig: config })
      await client.call('startContainer', { containerId })
      await whileItRuns(client, containerId)
      for (;;) {
        const { status } = await client.call('containerStatus', { containerId })
        if (status?.state === containerStates.exited) break
        await systemClock.sleep(10)
      }
      return readFileSync(join(logDirectory, 'log'), 'utf8').replace(/^\S+ \S+ [FP] /gm, '')
    } finally {
      await client.call('removePodSandbox', { podSandboxId })
    }
  }

  test('links of an image do not lead mounts out of it', async () => {
    const mine = join(world.directory, 'mine')
    mkdirSync(mine, { recursive: true })
    writeFileSync(join(mine, 'file'), 'mine')
    const mounts = [{ containerPath: '/data/deep/er', hostPath: mine }]
    // The link leads to nothing within the container, so there is nothing to mount on.
    const starting = run('cat /data/deep/er/file', { image: { image: hostileImage }, mounts })
    await assert.rejects(starting, /mount \/data\/deep\/er: no such file or directory/)
    assert.deepEqual(readdirSync(outside), ['secret'])
    assert.doesNotMatch(await run('cat /data/secret', { image: { image: hostileImage } }), /of the node/)
  })

  test('an image whose own /dev, /proc and /etc are links shows and changes nothing of the node', async () => {
    const said = await run('echo here; cat /etc/secret; echo x > /etc/made; ls /dev/null', {
      image: { image: 'typernetes.test/worse:1' },
    }).catch(String)
    assert.doesNotMatch(said, /of the node/)
    assert.deepEqual(readdirSync(outside), ['secret'])
  })

  test('links of a volume lead nowhere but within the container', async () => {
    const volume = join(world.directory, 'volume')
    mkdirSync(volume, { recursive: true })
    const said = await run(`ln -s ${outside}/secret /v/link; cat /v/link`, { mounts: [{ containerPath: '/v', hostPath: volume }] })
    assert.match(said, /No such file/)
  })

  test('a working directory does not lead to what was open on the way', async () => {
    for (const descriptor of [3, 4, 5, 6, 7, 8, 9, 10]) {
      const said = await run('pwd; ls ../../../../../..', { workingDir: `/proc/self/fd/${descriptor}` }).catch(String)
      assert.doesNotMatch(said, /lost\+found|vmlinuz|boot/, said)
    }
  })

  test('the kernel’s settings cannot be changed, and what is masked is empty', async () => {
    assert.match(await run('echo x > /proc/sys/kernel/core_pattern'), /Read-only file system/)
    assert.match(await run('echo b > /proc/sysrq-trigger'), /Read-only file system|nonexistent/)
    assert.match(
      await run('echo 1 > /sys/kernel/profiling || mkdir /sys/fs/cgroup/memory/x || mkdir /sys/fs/cgroup/x'),
      /Read-only|denied|nonexistent/,
    )
    assert.equal(await run('ls /sys/firmware; cat /proc/timer_list'), '')
  })

  test('devices that a container makes do not work', async () => {
    const volume = join(world.directory, 'devices')
    mkdirSync(volume, { recursive: true })
    const mounts = [{ containerPath: '/v', hostPath: volume }]
    for (const place of ['/', '/dev/', '/tmp/', '/v/']) {
      const said = await run(
        `mknod ${place}mem c 1 1; head -c 1 ${place}mem >/dev/null && echo read; mknod ${place}null2 c 1 3 && echo x > ${place}null2 && echo written`,
        { mounts },
      )
      assert.doesNotMatch(said, /^read|^written/m, place)
    }
    assert.match(await run('echo x > /dev/null && head -c 1 /dev/zero | wc -c'), /1/)
  })

  test('programs of another user give no rights to who may not get more', needsUsers, async () => {
    const security = { runAsUser: { value: 1000 }, noNewPrivs: true, capabilities: { dropCapabilities: ['ALL'] } }
    const said = await run('busybox id -u; grep -E "^(CapEff|NoNewPrivs)" /proc/self/status', {
      image: { image: hostileImage },
      security,
      command: ['busybox', 'sh', '-c', 'busybox id -u; busybox grep -E "^(CapEff|NoNewPrivs)" /proc/self/status'],
    })
    assert.match(said, /^1000\n/)
    assert.match(said, /NoNewPrivs:\s1/)
    assert.match(said, /CapEff:\s0{16}/)
  })

  test('nothing can be mounted, and no namespace made or entered', async () => {
    for (const security of [{}, { seccomp: { profileType: 0 } }]) {
      const said = await run(
        'mount -t tmpfs t /mnt || mount -t proc p /tmp; unshare -m true; unshare -r true; nsenter -t 1 -m true; chroot /proc/1/root true; echo over',
        { security },
      )
      assert.match(said, /over\n$/)
      assert.match(said, /denied|not permitted/)
    }
  })

  test('processes of the node are neither read nor traced, though they be seen', async () => {
    const said = await run(
      `cat /proc/${process.pid}/root${outside}/secret; cat /proc/${process.pid}/environ | head -c 1; ls /proc/${process.pid}/fd; echo over`,
      {},
      { pid: namespaceModes.node },
    )
    assert.match(said, /ermission denied/)
    assert.doesNotMatch(said, /of the node/)
    const shared = await run('cat /proc/1/comm; ls /proc/1/root; ls /proc/1/fd; echo over', {}, { pid: namespaceModes.pod })
    assert.match(shared, /^pause\n/)
    assert.doesNotMatch(shared, /^(bin|etc|usr)$/m)
  })

  /** As a pod with `hostUsers: false` has them: nothing is shared with the node. */
  const ownUsers = (hostId: number, pid: number = namespaceModes.container) => {
    const mapping = [{ hostId, containerId: 0, length: 65_536 }]
    const usernsOptions = { mode: namespaceModes.pod, uids: mapping, gids: mapping }
    return { modes: { network: namespaceModes.pod, pid, usernsOptions }, mappings: { uidMappings: mapping, gidMappings: mapping } }
  }

  test('root of a pod with users of its own is nobody on the node', needsOwnUsers, async () => {
    const volume = mkdtempSync(join(world.directory, 'volume-'))
    const plain = mkdtempSync(join(world.directory, 'plain-'))
    chmodSync(plain, 0o755)
    for (const [directory, name] of [
      [volume, 'roots'],
      [plain, 'secret'],
    ] as const)
      writeFileSync(join(directory, name), 'of root', { mode: 0o600 })
    const { modes, mappings } = ownUsers(131_072)
    const mounts = [
      { containerPath: '/v', hostPath: volume, ...mappings },
      { containerPath: '/plain', hostPath: plain },
    ]
    const said = await run(
      [
        'cat /proc/self/uid_map /proc/self/gid_map; id -u; cat /v/roots; echo; touch /v/mine /made && chown 1000:1001 /v/mine && ls -n /v/mine',
        'cat /plain/secret; touch /plain/made; ls -ln /plain/secret; stat -c "%u %n" / /bin/busybox /dev/shm /etc/hostname',
        'echo x > /proc/sys/kernel/core_pattern; echo out > /dev/stdout; echo x > /dev/shm/x && cat /dev/shm/x; hostname; ls /sys/class/net',
        'echo null > /dev/null && mknod /tmp/mem c 1 1 && head -c 1 /tmp/mem >/dev/null && echo read; cat /proc/1/comm; echo over',
      ].join('; '),
      { mounts },
      modes,
    )
    assert.match(said, /^ +0 +131072 +65536\n +0 +131072 +65536\n0\nof root\n/, said)
    assert.match(said, / 1000 +1001 .*\/v\/mine/, said)
    for (const name of ['secret', 'made']) assert.match(said, new RegExp(`plain/${name}'?: Permission denied`), said)
    assert.match(said, / 65534 +65534 .*secret/, said)
    assert.match(said, /^0 \/\n0 \/bin\/busybox\n0 \/dev\/shm\n0 \/etc\/hostname\n/m, said)
    assert.match(said, /core_pattern: (Read-only|Permission)/, said)
    assert.match(said, /^out\nx\nescape-\d+\n/m, said)
    assert.match(said, /^eth0$/m, said)
    assert.doesNotMatch(said, /^read$/m)
    assert.match(said, /^sh\nover\n$/m, said)
    const { uid, gid } = statSync(join(volume, 'mine'))
    assert.deepEqual([uid, gid], [1000, 1001])
    for (const [kind, mode] of Object.entries({ network: { network: namespaceModes.node }, pid: { pid: namespaceModes.node } })) {
      await assert.rejects(run('true', {}, { ...modes, ...mode }), new RegExp(`cannot share the ${kind} namespace of the node`))
    }
    const others = [{ containerPath: '/v', hostPath: volume, ...ownUsers(196_608).mappings }]
    await assert.rejects(run('true', { mounts: others }, modes), /are not those of the pod/)
  })

  test('a command that takes too long ends with all that it has started', async () => {
    const said = await run(
      "until test -e /over; do sleep 0.02; done; while ps | grep -q '[y]es always'; do sleep 0.02; done; echo none left",
      {},
      {},
      async (client, containerId) => {
        const cmd = ['sh', '-c', 'yes always > /dev/null & sleep 1000']
        await assert.rejects(client.call('execSync', { containerId, cmd, timeout: 1 }), /deadline exceeded/)
        await client.call('execSync', { containerId, cmd: ['touch', '/over'], timeout: 60 })
      },
    )
    assert.equal(said, 'none left\n')
  })

  test('nothing is mounted over files of the kernel that say what a process may do', async () => {
    for (const containerPath of ['/proc', '/proc/self/attr', '/x/../proc/sys']) {
      const mounts = [{ containerPath, hostPath: outside }]
      await assert.rejects(run('true', { mounts }), /"\/proc\S*" cannot be mounted because it is (inside \/proc|not of type proc)/)
    }
    assert.match(await run('ls /proc/1/stat', { mounts: [{ containerPath: '/proc', hostPath: '/proc' }] }), /\/proc\/1\/stat/)
    const mounts = [{ containerPath: '/proc/uptime', hostPath: join(outside, 'secret') }]
    assert.match(await run('cat /proc/uptime', { mounts }), /of the node/)
  })

  test('what a container leaves running is gone with it, and with its sandbox', async () => {
    const marker = `sleep 98765${process.pid}`
    await run(`${marker} & ${marker} & exit 0`, {}, { pid: namespaceModes.pod })
    const left = () => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(marker))
    // What was killed takes a moment to die on a busy machine.
    for (const untilMs = Date.now() + 60_000; left().length > 0 && Date.now() < untilMs; ) await systemClock.sleep(20)
    assert.deepEqual(left(), [])
  })
})

function commandOf(pid: string): string {
  const path = `/proc/${pid}/cmdline`
  try {
    return existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\0', ' ') : ''
  } catch {
    return ''
  }
}
