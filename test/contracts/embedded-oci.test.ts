/** The runtime interface over the embedded runtime where another program makes the containers. */
import { existsSync } from 'node:fs'
import { describe } from 'node:test'
import { startTestEmbedded, whyNoEmbedded, whyNoPodUsers } from '../support/embedded.ts'
import { containerRuntimeSuite } from './container-runtime.ts'

const noPodUsers = await whyNoPodUsers()
const health = {
  handlers: [{ name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: noPodUsers === false } }],
  features: { supplementalGroupsPolicy: true },
}

for (const name of ['runc', 'crun']) {
  const ociRuntime = ['/usr/bin', '/usr/sbin'].map((directory) => `${directory}/${name}`).find((path) => existsSync(path))
  const isAsked = (process.env['OCI_RUNTIMES'] ?? 'runc').split(',').includes(name)
  const skip = whyNoEmbedded() || (ociRuntime === undefined && `not installed: ${name}`) || (!isAsked && `OCI_RUNTIMES=${name} runs it`)
  describe(`containers by the embedded runtime and ${name}`, { skip, timeout: 600_000 }, () => {
    containerRuntimeSuite({ scheme: 'typernetes', start: () => startTestEmbedded({ ociRuntime: ociRuntime ?? '' }), health })
  })
}
