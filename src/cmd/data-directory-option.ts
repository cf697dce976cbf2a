import { thisMachine } from '#base/machine.ts'
import { text } from '#base/options.ts'

/** Where a cluster lives: the same for every command. */
export const dataDirectoryOption = text('where the cluster keeps everything', {
  placeholder: 'DIR',
  default: thisMachine().dataDirectory('typernetes'),
  defaultText: "the user's data directory",
})
