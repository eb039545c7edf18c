# The same service with a GPU, and with what Cloud Run gives beside one at the least.
module "service" {
  source = "../cloudrun"

  project     = var.project
  image       = var.image
  region      = var.region
  public      = var.public
  name        = "ranklet-gpu"
  cpu         = "4"
  memory      = "16Gi"
  concurrency = 16
  accelerator = "nvidia-l4"

  max_instances = 2
}

variable "project" {
  description = "Google Cloud project."
  type        = string
}

variable "image" {
  description = "Image of this folder's Dockerfile, with its digest."
  type        = string
}

variable "region" {
  description = "A region where Cloud Run has the GPU."
  type        = string
  default     = "europe-west1"
}

variable "public" {
  description = "Let anybody call; the API key is asked for all the same."
  type        = bool
  default     = false
}

output "url" {
  description = "Where it answers."
  value       = module.service.url
}
