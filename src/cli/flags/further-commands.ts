/** Flags that commands have had once, or that are still tried out; they are not in the help. */
export const hiddenFlags: Readonly<Record<string, string>> = {
  apply: 'applyset||string|',
  autoscale: 'cpu-percent||int|-1',
  kustomize: 'reorder||string|legacy\tenable-managedby-label||bool|false',
  run: 'generator||string|\treplicas||int|1\trequests||string|\tlimits||string|\tschedule||string|\thostport||int|-1\tserviceaccount||string|\tservice-generator||string|service/v2\tservice-overrides||string|',
}

/** Commands that are ours, or that kubectl has had once: path, usage, aliases, flags, as in the generated table. */
const output = 'output|o|string|'

export const furtherCommands = [
  `alpha\talpha\t\t`,
  `options\toptions [flags]\t\t`,
  `help\thelp [command]\t\t`,
  `tree\ttree (TYPE/NAME | TYPE NAME)\t\t${output}`,
  `why\twhy (POD | TYPE/NAME | TYPE NAME)\t\t${output}`,
  `convert\tconvert -f FILENAME\t\t${[
    'allow-missing-template-keys||bool|true',
    'filename|f|list|',
    'kustomize|k|string|',
    'local||bool|true',
    'output|o|string|yaml',
    'output-version||string|',
    'recursive|R|bool|false',
    'show-managed-fields||bool|false',
    'template||string|',
    'validate||string|strict',
  ].join('\t')}`,
  `ui\tui [TYPE]\t\tall-namespaces|A|bool|false\t${output}`,
  `stop\tstop (-f FILENAME | TYPE (NAME | -l label | --all))\t\tall||bool|false\tfilename|f|list|\tkustomize|k|string|\trecursive|R|bool|false\tgrace-period||int|-1\tignore-not-found||bool|false\toutput|o|string|\tselector|l|string|\ttimeout||duration|0s`,
  `run-container\trun-container NAME --image=image [--port=port] [--replicas=replicas]\t\t${[
    'image||string|',
    'port||string|',
    'replicas||int|1',
    'labels|l|string|',
    'overrides||string|',
    'dry-run||string|none',
    'output|o|string|',
    'env||list|',
    'command||bool|false',
  ].join('\t')}`,
  `rolling-update\trolling-update OLD_CONTROLLER_NAME ([NEW_CONTROLLER_NAME] --image=NEW_CONTAINER_IMAGE | -f NEW_CONTROLLER_SPEC)\t\t${[
    'filename|f|list|',
    'recursive|R|bool|false',
    'kustomize|k|string|',
    'image||string|',
    'container||string|',
    'update-period||duration|1m0s',
    'poll-interval||duration|3s',
    'timeout||duration|5m0s',
    'rollback||bool|false',
    'deployment-label-key||string|deployment',
    'image-pull-policy||string|',
    'dry-run||string|none',
    'output|o|string|',
  ].join('\t')}`,
].join('\n')
