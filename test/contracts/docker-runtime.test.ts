import { describe } from 'node:test'
import { dockerWorld, whyNoDocker } from '../support/docker.ts'
import { containerRuntimeSuite } from './container-runtime.ts'

/** Where Docker's own words for things are furthest from CRI's; the whole table, those of pods and of volumes: test/by-hand/docker.ts. */
const rows = [
  'a sandbox has an address, and its container runs to its end',
  'users, groups and rights are as the security contexts say',
  'settings of the kernel, directories, mounts and rights are as asked for',
  'limits are in the kernel, and change when the container is resized',
  'an end is told of by an event: nobody lists all containers again and again',
]

describe('containers by Docker', { skip: whyNoDocker(), timeout: 600_000 }, () => containerRuntimeSuite({ ...dockerWorld, rows }))
