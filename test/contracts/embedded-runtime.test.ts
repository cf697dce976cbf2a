/** The runtime interface over the embedded runtime. */
import { describe } from 'node:test'
import { startTestEmbedded, whyNoEmbedded, whyNoPodUsers } from '../support/embedded.ts'
import { containerRuntimeSuite } from './container-runtime.ts'

const noPodUsers = await whyNoPodUsers()
const health = {
  handlers: [{ name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: noPodUsers === false } }],
  features: { supplementalGroupsPolicy: true },
}

describe('containers by the embedded runtime', { skip: whyNoEmbedded(), timeout: 600_000 }, () => {
  containerRuntimeSuite({ scheme: 'typernetes', start: startTestEmbedded, health })
})
