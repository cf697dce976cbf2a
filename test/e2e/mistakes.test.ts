/** What people get wrong, and what they are told: in a line or two, with the right exit code, without a trace of the program's insides, and soon. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'

const directory = mkdtempSync(join(tmpdir(), 'tn mistakes '))
after(() => rmSync(directory, { recursive: true, force: true }))
const program = join(import.meta.dirname, '../../bin/typernetes.js')

writeFileSync(join(directory, 'typo.yaml'), 'sim-node: 3\n')
writeFileSync(join(directory, 'camel.yaml'), 'dataDirectory: /x\n')
writeFileSync(join(directory, 'list.yaml'), '[1, 2]\n')
writeFileSync(join(directory, 'broken.yaml'), 'a: [\n')
writeFileSync(join(directory, 'value.yaml'), 'api-port: many\n')
writeFileSync(join(directory, 'file'), 'x')
writeFileSync(join(directory, 'empty'), '')
mkdirSync(join(directory, 'folder'))

type Outcome = { text: string; status: number | null }

function typernetes(args: readonly string[]): Promise<Outcome> {
  const { KUBECONFIG: _kubeconfig, ...environment } = process.env
  // Several run at once, some of which write the keys of their cluster before they fail.
  const env = { ...environment, HOME: directory, XDG_DATA_HOME: mkdtempSync(join(directory, 'data-')), NO_COLOR: '1' }
  return new Promise((resolve) => {
    // Not asserted on: it ends a program that would go on for ever.
    const child = spawn(process.execPath, [program, ...args], { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 90_000 })
    let text = ''
    child.stdout.on('data', (piece: Buffer) => {
      text += piece
    })
    child.stderr.on('data', (piece: Buffer) => {
      text += piece
    })
    child.on('close', (status) => resolve({ text, status }))
  })
}

/** What is typed, and what is said. All end with 1. */
const mistakes: readonly (readonly [line: string, said: RegExp])[] = [
  // Words.
  ['upp', /unknown command 'upp'\n\(Did you mean up\?\)/],
  ['help nonsense', /unknown command 'nonsense'/],
  ['up --unknown-flag', /unknown option '--unknown-flag'/],
  ['up --sim-node 3', /unknown option '--sim-node'\n\(Did you mean --sim-nodes\?\)/],
  ['up -x', /unknown option '-x'/],
  ['up one two', /too many arguments for 'up'/],
  ['down extra words', /too many arguments for 'down'/],
  ['version extra', /too many arguments for 'version'/],
  ['snapshot', /^Usage: typernetes snapshot/],
  ['store', /^Usage: typernetes store/],
  ['certs', /^Usage: typernetes certs/],
  ['node', /^Usage: typernetes node/],
  ['new', /^Usage: typernetes new/],
  ['completion', /^Usage: typernetes completion/],
  ['config', /^Usage: typernetes config/],
  ['completion tcsh', /unknown command 'tcsh'/],
  ['config nonsense', /unknown command 'nonsense'/],
  ['new nonsense x', /unknown command 'nonsense'/],
  ['node remove x', /unknown command 'remove'/],
  // Values.
  ['up --sim-nodes -1', /'--sim-nodes <N>' argument '-1' is invalid\. Allowed are whole numbers from 0 to 16384\./],
  ['up --sim-nodes many', /'many' is invalid\. It is not a whole number\./],
  ['up --nodes 101', /Allowed are whole numbers from 0 to 100\./],
  ['up --nodes', /'--nodes <N>' argument missing/],
  ['up --api-port 99999', /'99999' is invalid\. Allowed are whole numbers from 0 to 65535\./],
  ['up --api-port 12.5', /It is not a whole number\./],
  ['up --cluster-cidr banana', /'banana' is invalid\. It is not a valid range of addresses such as/],
  ['up --service-cluster-ip-range 10.96.0.0/33', /It is not a valid range of addresses such as/],
  ['up --service-node-port-range 5-1', /It is not a valid range of ports such as 30000-32767/],
  ['up --runtime podman', /Allowed are auto, cri, docker, embedded, sim, none\./],
  [
    'up --runtime docker --docker-endpoint unix:///nowhere/docker.sock',
    /--runtime docker: no Docker listens at \/nowhere\/docker\.sock; on Debian: apt install docker\.io/,
  ],
  ['up --log-level loud', /Allowed are debug, info, warn, error\./],
  ['up --log-format xml', /Allowed are auto, text, json\./],
  ['up --listen 999.1.1.1', /'--listen <ADDR>' argument '999\.1\.1\.1' is invalid\. It is not an IP address such as/],
  ['up --proxy-mode magic', /Allowed are nftables, iptables, ipvs, userspace, none\./],
  ['up --pod-network pigeon', /Allowed are host-gw, vxlan, /],
  ['up --memory-limit lots', /It is no amount such as 512Mi\./],
  ['up --request-timeout soon', /It is not a length of time such as 30s/],
  ['up --scheduler=maybe', /It is neither true nor false\./],
  ['up --store mysql://x --runtime none', /--store: mysql:\/\/x is neither sqlite, memory, etcd nor etcd:\/\/HOST:PORT/],
  ['up --controllers nonsense --runtime none --store memory', /"nonsense" is not in the list of known controllers/],
  [
    'up --feature-gates Nonsense=true',
    /'--feature-gates <LIST>' argument 'Nonsense=true' is invalid\. It is refused: unrecognized feature gate: Nonsense; allowed are NAME=true and NAME=false/,
  ],
  ['up --feature-gates allalpha=true', /\(did you mean AllAlpha\?\)/],
  [
    'up --runtime-config nosuch/v1=true --runtime none --store memory',
    /--runtime-config: unknown api groups nosuch\/v1; allowed are GROUP\/VERSION=true/,
  ],
  ['up --runtime-config batch/v1=perhaps --runtime none --store memory', /--runtime-config: invalid value of batch\/v1: perhaps/],
  [
    'up --listen 192.0.2.1 --runtime none --api-port 0 --store memory',
    /this machine has no address 192\.0\.2\.1; choose another with --listen/,
  ],
  ['status -o yaml', /Allowed are text, json\./],
  ['list -o wide', /Allowed are text, json, name\./],
  ['logs --level loud', /Allowed are debug, info, warn, error\./],
  ['logs --since yesterday', /It is not a length of time/],
  ['logs --tail -3', /Allowed are whole numbers from 0 on\./],
  // Names.
  ['up Lab', /Lab is not a valid name for a cluster/],
  ['up lab --data-dir /x', /give the name of a cluster or --data-dir, not both/],
  ['use Bad_Name', /Bad_Name is not a valid name for a cluster/],
  ['new operator Bad_Name', /Bad_Name is not a valid name for a project/],
  ['new operator', /missing required argument 'name'/],
  ['use', /missing required argument 'name'/],
  ['snapshot save', /missing required argument 'file'/],
  ['images load', /missing required argument 'sources'/],
  // Files and directories.
  ['up --data-dir /etc/hostname', /--data-dir: cannot write to \/etc\/hostname/],
  ['up --data-dir /proc/nowhere', /--data-dir: cannot write to \/proc\/nowhere/],
  ['up --config /nowhere.yaml', /--config: there is no file \/nowhere\.yaml/],
  ['up --config folder', /--config: folder is a directory/],
  ['up --config typo.yaml', /typo\.yaml sets sim-node, which is not a setting of this command; did you mean sim-nodes\?/],
  ['status --config camel.yaml', /camel\.yaml sets dataDirectory, which is not a setting of this command/],
  ['up --config list.yaml', /--config: list\.yaml is not a map of settings/],
  ['up --config broken.yaml', /--config: broken\.yaml is not valid YAML: .*\n$/],
  ['up --config value.yaml', /value\.yaml: api-port: many: It is not a whole number\./],
  ['up --token-auth-file /nowhere --runtime none --store memory', /--token-auth-file: there is no file \/nowhere/],
  ['up --cri-socket /nowhere.sock --runtime cri', /--cri-socket: \/nowhere\.sock is not a socket of a container runtime/],
  ['images load /nowhere.tar --cri-socket /nowhere.sock', /there is no file \/nowhere\.tar/],
  ['snapshot status /nowhere', /there is no snapshot \/nowhere/],
  ['snapshot status file', /file is not a snapshot of Typernetes/],
  ['snapshot restore empty', /empty is not a snapshot of Typernetes/],
  ['scheduler --kubeconfig /nowhere', /--kubeconfig: there is no file \/nowhere/],
  ['kubectl get pods --kubeconfig /nowhere', /^error: stat \/nowhere: no such file or directory/],
  ['get pods --kubeconfig /nowhere', /^error: stat \/nowhere: no such file or directory/],
  // Out of turn: nothing runs yet.
  ['status nothere', /^No cluster runs in .*clusters\/nothere/],
  ['logs nothere', /there is no log in .*clusters\/nothere; only clusters that were started with up -d have one/],
  ['use nothere', /no cluster nothere runs; start it with typernetes up nothere/],
  ['node add', /no cluster runs in .*; start one with `typernetes up`/],
  ['store migrate', /--to: say where the objects go/],
  ['apiserver', /--etcd-servers must be specified/],
  ['explain connection', /say from which pod to where: typernetes explain connection POD SERVICE:PORT/],
  ['schedule', /say which pod: typernetes schedule --explain pod\/NAME/],
]

assert.ok(mistakes.length >= 60)

describe('a mistake is answered in a line', { concurrency: 4 }, () => {
  for (const [line, said] of mistakes) {
    test(`typernetes ${line}`, async () => {
      const { text, status } = await typernetes(line.split(' '))
      assert.equal(status, 1, text)
      assert.match(text.startsWith('typernetes: ') ? text.slice('typernetes: '.length) : text, said)
      assert.doesNotMatch(text, /^ +at /m, 'no stack')
    })
  }
})

describe('what is gone already is no mistake', { concurrency: 3 }, () => {
  for (const [line, said] of [
    ['down nothere', /^No cluster runs in /],
    ['delete nothere', /^No cluster runs in /],
    ['reset --data-dir /nowhere', /^\/nowhere has joined no cluster/],
  ] as const) {
    test(`typernetes ${line}`, async () => {
      const { text, status } = await typernetes(line.split(' '))
      assert.equal(status, 0, text)
      assert.match(text, said)
    })
  }
})

test('a full disk is told with its directory', async (context) => {
  const small = join(directory, 'small')
  mkdirSync(small)
  // Only root may have a disk of its own, and not in every container.
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=300k', 'tmpfs', small])
  if (mounted.status !== 0) return context.skip('there is no disk that could be full')
  try {
    const data = join(small, 'data')
    const { text, status } = await typernetes(['up', '--runtime', 'none', '--api-port', '0', '--data-dir', data])
    assert.equal(status, 1, text)
    assert.match(text, new RegExp(`^typernetes: --data-dir: the disk of ${data} is full$`, 'm'))
    assert.doesNotMatch(text, /^ +at /m)
  } finally {
    spawnSync('umount', ['--lazy', small])
  }
})
