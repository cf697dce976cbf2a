import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runKubectl } from '#cli/kubectl.ts'
import { fakeHost } from '#cli/testing/fake-host.ts'

const home = mkdtempSync(join(tmpdir(), 'usable '))
after(() => rmSync(home, { recursive: true, force: true }))

const config = join(home, 'config')
const there =
  'current-context: c\nclusters: [{name: k, cluster: {server: "http://k"}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n'

for (const [what, text, complaint] of [
  [
    'of another kind',
    'apiVersion: v1\nkind: Pod\n',
    /^error: error loading config file ".*": no kind "Pod" is registered for version "v1"/,
  ],
  ['of another version', 'apiVersion: v2\nkind: Config\n', /no kind "Config" is registered for version "v2"/],
  [
    'with a map for a list',
    'users: {a: b}\n',
    /^error: .*: json: cannot unmarshal object into Go struct field Config\.users of type \[\]v1\.NamedAuthInfo\n$/,
  ],
  [
    'whose context is not there',
    'current-context: nosuch\n',
    /^Error in configuration: context was not found for specified context: nosuch\n$/,
  ],
  [
    'with two ways to say who one is',
    `${there}users: [{name: u, user: {token: t, username: ann}}]\n`,
    /^Error in configuration: more than one authentication method found for u; found \[token basicAuth\], only one is allowed\n$/,
  ],
  [
    'with several mistakes',
    `${there}users: [{name: u, user: {client-certificate: cc, exec: {command: x, apiVersion: client.authentication.k8s.io/v1}}}]\n`,
    /^Error in configuration: \n\* client-key-data or client-key must be specified for u .*\n\* unable to read client-cert .*cc for u due to open .*: no such file or directory\n\* interactiveMode must be specified for u to use exec authentication plugin\n$/,
  ],
] as const)
  test(`a kubeconfig ${what} is refused in kubectl's words`, async () => {
    writeFileSync(config, text)
    const host = fakeHost({ answer: () => undefined, homeDirectory: home, isTerminal: false, environment: { KUBECONFIG: config } })
    assert.equal(await runKubectl(['get', 'pods'], host), 1)
    assert.match(host.errors(), complaint)
  })
