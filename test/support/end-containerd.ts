/** `node end-containerd.ts DIRECTORY`: takes down the containerd of a test that was ended before it could do so itself. */
import { endContainerd } from './containerd.ts'

const [directory] = process.argv.slice(2)
if (directory !== undefined) await endContainerd(directory)
